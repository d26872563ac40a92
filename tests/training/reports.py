"""Reports and states with simple numbers."""

import numpy as np

from sparkdl.training.reporting.reports import FitPlan, RoundReport
from sparkdl.training.saving.state import TrainState


def report(epoch=0, round=0, **changes):
    """Returns the report of a round of 100 examples in 2 seconds."""
    seconds = {"reading": 0.2, "compute": 1.4, "averaging": 0.3, "overhead": 0.1}
    fields = {"rounds_in_epoch": 2, "iteration": 5, "examples": 100, "loss": 1.0, "workers": 2}
    return RoundReport(epoch=epoch, round=round, **{**fields, "seconds": seconds, **changes})


def plan(**changes):
    return FitPlan(**{"conf": None, "epochs": 3, "rounds_in_epoch": 2, **changes})


def state(**changes):
    vectors = {name: np.zeros(3, np.float32) for name in ("params", "buffers", "slots")}
    return TrainState(**{**vectors, **changes})
