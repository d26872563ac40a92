"""Base of listeners that watch a figure for improvement."""

import math
from typing import Any

from sparkdl.errors import ConfigError, require
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import EpochReport, FitPlan, ValidationReport

MODES = ("auto", "min", "max")
LARGER_IS_BETTER = {"accuracy", "exact_match", "precision", "recall", "f1", "auc", "score"}
LARGER_IS_BETTER |= {"r2", "correlation"}
SMALLER_IS_BETTER = {"loss", "mse", "mae", "rmse"}
VALIDATION = "validation "


class Monitor(Listener):
    """Base of listeners that watch a metric, after each epoch or evaluation that has it.

    Parameters
    ----------
    monitor : str
        "loss" is the training loss of an epoch; "validation loss", "validation accuracy" ... are
        metrics of each evaluation.
    mode : "auto", "min" or "max"
        Which value is better. "auto": a larger accuracy, precision, f1, auc, r2 and the like; a
        smaller value of all others. A metric of your own needs "min" or "max".
    min_delta : float
        A smaller change does not count as an improvement.
    """

    def __init__(self, monitor: str, mode: str = "auto", min_delta: float = 0.0) -> None:
        self.monitor, self.mode, self.min_delta = monitor, mode, min_delta
        require(self, "monitor", isinstance(monitor, str), "the name of a figure")
        require(self, "mode", mode in MODES, f"one of {list(MODES)}")
        require(self, "min_delta", is_number(min_delta) and min_delta >= 0, "a number >= 0")

    def on_fit_start(self, plan: FitPlan) -> None:
        """Raises ConfigError for a metric that the fit will not have, or of unknown direction."""
        if plan.figures is not None and self.monitor not in plan.figures:
            cure = "; give the fit validation data" if plan.figures == ("loss",) else ""
            raise ConfigError(
                f"{type(self).__name__}.monitor must be one of {list(plan.figures)}, got "
                f"{self.monitor!r}{cure}"
            )
        self._check_mode(plan.metrics)
        self.steering = plan.steering

    def _check_mode(self, metrics):
        """Raises ConfigError if nobody has said which values of a user's metric are better."""
        own = self.monitor.startswith(VALIDATION) and self.monitor[len(VALIDATION) :] in metrics
        known = self.larger_is_better or self._name in SMALLER_IS_BETTER
        if own and self.mode == "auto" and not known:
            raise ConfigError(
                f"{type(self).__name__}.mode must be 'min' or 'max' for {self.monitor!r}, a metric "
                "of your own, got 'auto'"
            )

    def on_epoch(self, report: EpochReport, state: Any) -> None:
        if self.monitor == "loss":
            self.watch(report.loss, state)
        elif report.validation is not None:
            self._watch_evaluation(report.validation, state)

    def on_validation(self, report: ValidationReport, state: Any) -> None:
        if self.monitor != "loss":
            self._watch_evaluation(report.validation, state)

    def _watch_evaluation(self, evaluation, state):
        figures = {f"{VALIDATION}{name}": value for name, value in evaluation.figures().items()}
        if not is_number(figures.get(self.monitor)):
            numbers = ["loss", *(name for name, value in figures.items() if is_number(value))]
            raise ConfigError(
                f"{type(self).__name__}.monitor must be one of {numbers}, got {self.monitor!r}"
            )
        self.watch(figures[self.monitor], state)

    def watch(self, value: float, state: Any) -> None:
        """Called with each value of the metric, and the state that has it."""
        raise NotImplementedError

    @property
    def larger_is_better(self) -> bool:
        """Whether more is better."""
        more = self._name in LARGER_IS_BETTER or self._name.startswith("top_")
        return more if self.mode == "auto" else self.mode == "max"

    @property
    def _name(self):
        """Name of the figure, without the name of what has it."""
        return self.monitor.removeprefix(VALIDATION).rpartition("/")[2]

    def is_better(self, value: float, best: float | None) -> bool:
        """Returns whether a value is better than the best one by more than `min_delta`."""
        if math.isnan(value):
            return False
        if best is None:
            return True
        gain = value - best if self.larger_is_better else best - value
        return gain > self.min_delta


def is_number(value: object) -> bool:
    """Returns whether a value is an integer or a float, but no bool."""
    return isinstance(value, float | int) and not isinstance(value, bool)
