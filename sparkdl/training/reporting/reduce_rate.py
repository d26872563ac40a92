"""A listener that lowers the learning rates when a figure stops improving."""

import logging
from typing import Any

import numpy as np

from sparkdl.config import is_integer
from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import require
from sparkdl.training.reporting.monitor import Monitor, is_number
from sparkdl.training.reporting.reports import FitPlan

log = logging.getLogger(__name__)


class ReduceLROnPlateau(Monitor):
    """Reduces all learning rates when a metric has stopped improving, as in Keras.

    The optimizers' schedules continue underneath. The factor stays with the network, for later fits
    and in checkpoints; a resumed fit continues the listener's count of evaluations.

    Parameters
    ----------
    monitor, mode
        As of Monitor.
    factor : float
        Factor by which the rates are multiplied, each time.
    patience : int
        Evaluations without improvement after which the rates are reduced.
    min_delta : float
        A smaller change does not count as an improvement.
    cooldown : int
        Evaluations after a reduction that do not count.
    min_lr : float
        Lower bound of the rate; with several optimizers, of the largest rate.
    """

    steers = True
    counters = ("_best", "_wait", "_cooling")

    @refuse_unknown_options
    def __init__(
        self,
        monitor: str = "validation loss",
        factor: float = 0.1,
        patience: int = 10,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.factor, self.patience = factor, patience
        self.cooldown, self.min_lr = cooldown, min_lr
        require(self, "factor", is_number(factor) and 0 < factor < 1, "a number in (0, 1)")
        for name in ("patience", "cooldown"):
            require(self, name, is_integer(getattr(self, name), 0), "an integer >= 0")
        require(self, "min_lr", is_number(min_lr) and min_lr >= 0, "a number >= 0")

    def on_fit_start(self, plan: FitPlan) -> None:
        super().on_fit_start(plan)
        self._conf, self._best, self._wait, self._cooling = plan.conf, None, 0, 0

    def watch(self, value: float, state: Any) -> None:
        if self._cooling:
            self._cooling, self._wait = self._cooling - 1, 0
        if self.is_better(value, self._best):
            self._best, self._wait = value, 0
        elif not self._cooling:
            self._wait += 1
            if self._wait >= self.patience:
                self._reduce(state)

    def _reduce(self, state):
        rate = float(np.max(self._conf.rate_at(state.iteration, state.epoch)))
        now = rate * self.steering.rate_factor
        lower = max(now * self.factor, self.min_lr)
        if 0 < lower < now:
            self.steering.rate_factor = lower / rate
            self._cooling, self._wait = self.cooldown, 0
            log.info("%s has not improved: learning rate %g", self.monitor, lower)
