"""Listeners that end a fit at a target, above a limit of the loss, or when its time is up."""

import time
from collections.abc import Callable
from math import isnan
from typing import Any

from sparkdl.config.calls import refuse_unknown_options
from sparkdl.errors import require
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.monitor import Monitor, is_number
from sparkdl.training.reporting.reports import FitPlan, RoundReport
from sparkdl.training.reporting.steering import StopTraining


class TerminateOnTarget(Monitor):
    """Ends a fit at the first epoch or evaluation whose metric is as good as a target.

    The network keeps the weights that reached it, unless EarlyStopping restores others. A resumed
    fit trains on to its next evaluation before it is checked again.

    Parameters
    ----------
    target : float
        Value that is good enough.
    monitor, mode
        As of Monitor.

    Examples
    --------
    >>> enough = TerminateOnTarget(0.99, "validation accuracy")
    >>> history = net.fit(data, epochs=100, validation=test, listeners=[enough])
    >>> history.end_reason
    """

    steers = True

    @refuse_unknown_options
    def __init__(self, target: float, monitor: str = "validation loss", mode: str = "auto") -> None:
        super().__init__(monitor, mode)
        self.target = target
        require(self, "target", is_number(target) and not isnan(target), "a number")

    def watch(self, value: float, state: Any) -> None:
        if value == self.target or self.is_better(value, self.target):
            raise StopTraining(
                f"{self.monitor} {value:.6g} is as good as the target {self.target:g}"
            )


class TerminateOnMaxLoss(Listener):
    """Ends a fit after a round whose training loss exceeds a limit.

    The network keeps the weights after that round; where workers stay, after the one that they have
    begun meanwhile. A loss that is not finite ends every fit, with a DivergedError; so do weights
    that are not finite, where `checkpoints` would save them.

    Parameters
    ----------
    max_loss : float
        Largest mean loss of a round's examples with which the fit continues.
    """

    @refuse_unknown_options
    def __init__(self, max_loss: float) -> None:
        self.max_loss = max_loss
        require(self, "max_loss", is_number(max_loss) and not isnan(max_loss), "a number")

    def on_round(self, report: RoundReport, state: Any) -> None:
        if report.loss > self.max_loss:
            raise StopTraining(f"loss {report.loss:.6g} exceeds {self.max_loss:g}")


class TerminateOnTime(Listener):
    """Ends a fit after the round in which its time limit passes.

    Where workers stay, that is the round that they have begun meanwhile.

    Parameters
    ----------
    seconds : float
        Time limit, from the start of training; of a stream, from that of its first micro-batch.
    clock : function
        Gives seconds; that of tests does not wait for them.

    Attributes
    ----------
    start : float
        What the clock gave at the start.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        require(self, "seconds", is_number(seconds) and seconds > 0, "a number > 0")

    def on_fit_start(self, plan: FitPlan) -> None:
        self.start = self._clock()

    def on_round(self, report: RoundReport, state: Any) -> None:
        if self._clock() - self.start >= self.seconds:
            raise StopTraining(f"{self.seconds:g} s have passed")
