"""A listener that ends a fit when a figure stops improving."""

import logging
from math import isnan
from typing import Any

from sparkdl.config import is_integer
from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import ConfigError, require
from sparkdl.training.reporting.monitor import Monitor, is_number
from sparkdl.training.reporting.reports import FitPlan
from sparkdl.training.reporting.steering import StopTraining

log = logging.getLogger(__name__)
NEVER = 2**31  # a patience that no fit uses up, to keep the best weights alone


class EarlyStopping(Monitor):
    """Ends a fit when a metric has not improved for some evaluations, as in Keras.

    A resumed fit continues its count of evaluations and its best value.

    Parameters
    ----------
    monitor, mode
        As of Monitor.
    min_delta : float
        A smaller change does not count as an improvement.
    patience : int
        Evaluations without improvement after which the fit ends.
    baseline : float, optional
        Value that the metric must also beat, within `patience`.
    restore_best_weights : bool
        Whether the fit ends with the weights of the best value; False: with the last ones. One
        listener of a fit may do so. The driver and checkpoints keep them meanwhile. If a fit
        resumes one whose listener did not keep them, only later values count, and a warning says
        so.
    start_from_epoch : int
        First epoch that counts, from 0.

    Attributes
    ----------
    best : float or None
        The best value of the metric.
    best_epoch, stopped_epoch : int or None
        Epoch of the best value, and epoch in which the fit was ended; from 0.

    Examples
    --------
    >>> stopping = EarlyStopping(patience=3, restore_best_weights=True)
    >>> history = net.fit(data, epochs=100, validation=test, listeners=[stopping])
    """

    steers = True
    counters = ("best", "best_epoch", "_wait")

    @refuse_unknown_options
    def __init__(
        self,
        monitor: str = "validation loss",
        min_delta: float = 0.0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience, self.baseline = patience, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        for name in ("patience", "start_from_epoch"):
            require(self, name, is_integer(getattr(self, name), 0), "an integer >= 0")
        sound = baseline is None or (is_number(baseline) and not isnan(baseline))
        require(self, "baseline", sound, "a number or None")
        self._begin()

    def _begin(self):
        self.best: float | None = None
        self.best_epoch: int | None = None
        self.stopped_epoch: int | None = None
        self._wait = 0

    def on_fit_start(self, plan: FitPlan) -> None:
        """Raises ConfigError as Monitor does, and if another one restores weights, too."""
        super().on_fit_start(plan)
        self._begin()
        if self.restore_best_weights:
            if self.steering.restoring not in (None, self):
                raise ConfigError(
                    "EarlyStopping.restore_best_weights must be True in one listener of a fit, as "
                    f"it ends with the best weights of one metric, got those of "
                    f"{self.steering.restoring.monitor!r} and {self.monitor!r}; leave it out of one"
                )
            self.steering.restoring = self

    def resume(self, counters: dict[str, Any]) -> None:
        super().resume(counters)
        if not self.restore_best_weights or self.best is None:
            return
        kept = self.steering.earlier_ending
        if kept is not None and epoch_of(kept) == self.best_epoch:
            self.steering.end_with(kept)
            return
        log.warning(
            "the resumed fit did not keep the weights of %s %.6g: the best ones from here on are "
            "restored",
            self.monitor,
            self.best,
        )
        self.best = self.best_epoch = None

    def watch(self, value: float, state: Any) -> None:
        epoch = epoch_of(state)
        if epoch < self.start_from_epoch:
            return
        self._wait += 1
        if self.is_better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.steering.end_with(state)
            if self.baseline is None or self.is_better(value, self.baseline):
                self._wait = 0
        elif self._wait >= self._patience():
            self.stopped_epoch = epoch
            best, waited = "nothing" if self.best is None else f"{self.best:.6g}", self._wait
            self._wait = 0  # a resumed fit gets its full patience again
            raise StopTraining(
                f"{self.monitor} was not better than {best} for {waited} evaluations"
            )

    def _patience(self):
        """Returns the number of evaluations without improvement after which the fit ends.

        If none has been a number yet, the first one is not counted, as in Keras.
        """
        return self.patience if self.best is not None else max(self.patience, 1) + 1


def epoch_of(state: Any) -> int:
    """Returns the epoch, from 0, that a state is in or at the end of."""
    return int(state.epoch - state.starts_epoch)
