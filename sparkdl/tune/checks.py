"""Checks of a search's options before any job."""

from typing import Any

from sparkdl.config import is_integer
from sparkdl.errors import ConfigError, require
from sparkdl.nn import Conf
from sparkdl.nn.execution.device import DEVICES
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.reporting.monitor import MODES, VALIDATION, is_number


def check_options(search: Any, optuna: Any) -> None:
    """Raises ConfigError for an invalid option of a Search."""
    require(search, "define", callable(search.define), "a function of an optuna.Trial")
    check_study(search, optuna)
    require(search, "epochs", is_integer(search.epochs, 1), "an integer >= 1")
    for name, least in ("batch_size", 1), ("parallelism", 1), ("patience", 0):
        value = getattr(search, name)
        sound = value is None or is_integer(value, least)
        require(search, name, sound, f"an integer >= {least} or None")
    sound = search.monitor is None or isinstance(search.monitor, str)
    require(search, "monitor", sound, "the name of a figure, or None")
    require(search, "mode", search.mode in MODES, f"one of {list(MODES)}")
    sound = is_number(search.min_delta) and search.min_delta >= 0
    require(search, "min_delta", sound, "a number >= 0")
    sound = search.master is None or isinstance(search.master, TrainingMaster)
    require(search, "master", sound, "a TrainingMaster or None")
    alone = search.master is None or search.parallelism in (None, 1)
    cure = "each trial takes all slots"
    require(search, "parallelism", alone, "1 or None where trials have a master", cure)
    require(search, "device", search.device in DEVICES, f"one of {DEVICES}")


def check_study(search, optuna):
    study = search.study
    sound = study is None or isinstance(study, optuna.Study)
    require(search, "study", sound, "an optuna.Study", "optuna.create_study() makes one")
    single = study is None or len(study.directions) == 1
    require(search, "study", single, "one of a single direction")


def check_figure(conf: Conf, monitor: str, has_validation: bool) -> None:
    """Raises ConfigError for a figure that trials will not have."""
    names = [f"{VALIDATION}{name}" for name in Evaluator(conf).figures()] if has_validation else []
    if monitor not in ("loss", *names):
        cure = "" if has_validation else "; give validation or validation_split"
        raise ConfigError(
            f"Search.monitor must be one of {['loss', *names]}, got {monitor!r}{cure}"
        )
