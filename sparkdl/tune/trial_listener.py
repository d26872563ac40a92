"""A listener that reports a trial's figure after each epoch, and ends the trial if pruned."""

import math
from typing import Any

from sparkdl.errors import DivergedError
from sparkdl.training.reporting.early_stopping import NEVER, EarlyStopping
from sparkdl.training.reporting.monitor import Monitor
from sparkdl.training.reporting.steering import StopTraining

PRUNED = "pruned"


class TrialListener(Monitor):
    """Reports the figure, and stops training if the reply says so.

    Parameters
    ----------
    setup : TrialSetup
    report : function (step, value, state) -> bool
        Whether to continue.

    Attributes
    ----------
    value : float or None
        The figure of the last epoch, None before the first.
    """

    steers = True

    def __init__(self, setup, report):
        super().__init__(setup.monitor, setup.mode)
        self.value, self._report, self._early = None, report, early_stopping(setup)
        self._restores = setup.restore_best_weights

    @property
    def listeners(self):
        """This listener, and that for early stopping, if any."""
        return [self] if self._early is None else [self, self._early]

    @property
    def final_value(self):
        """The figure of the trial's final weights; None without an epoch."""
        return self._early.best if self._restores and self._early else self.value

    def watch(self, value: float, state: Any) -> None:
        if not math.isfinite(value):
            raise DivergedError(f"{self.monitor} is {value} after epoch {state.epoch}")
        self.value = float(value)
        if not self._report(state.epoch, self.value, state):
            raise StopTraining(PRUNED)


def early_stopping(setup):
    """Returns the listener that a setup requires, or None."""
    if setup.goes_on:
        return None
    patience = NEVER if setup.patience is None else setup.patience
    options = {"mode": setup.mode, "min_delta": setup.min_delta}
    options |= {"restore_best_weights": setup.restore_best_weights}
    return EarlyStopping(setup.monitor, patience=patience, **options)
