"""Checks of the training master and the workers given to a fit."""

from sparkdl.errors import ConfigError, brief
from sparkdl.training.masters.base import TrainingMaster


def require_workers(master, workers):
    """Raises ConfigError unless given a TrainingMaster, and Workers or None."""
    if not isinstance(master, TrainingMaster):
        raise ConfigError(f"master must be a TrainingMaster, got {brief(master)}")
    if workers is not None and not hasattr(workers, "load"):
        raise ConfigError(
            f"workers must be Workers such as LocalWorkers(4), got {brief(workers)}; their number "
            "is an option of the master: ParameterAveraging(workers=4)"
        )
