"""Counters of listeners, recorded in checkpoints for resumed fits."""

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reports import FitPlan

# Keys in a checkpoint's extra: counters, the TrainState to end with, and the epoch and update up
# to which listeners have been told of epoch ends and of evaluations; update -1: not even of an
# evaluation before the first update.
COUNTERS, ENDING, HEARD = "listeners", "ending", "heard"


class CounterKeeper(Listener):
    """Records listeners' counters, and restores them in a resumed fit.

    It is notified after those listeners, and records in the fit's `extra`, which checkpoints hold
    and `resume=True` finds.

    Parameters
    ----------
    listeners : sequence of Listener
        Each with `counters`.
    """

    def __init__(self, listeners: Iterable[Listener]) -> None:
        self.listeners = list(listeners)

    def on_fit_start(self, plan: FitPlan) -> None:
        self._extra, self._steering = plan.extra, plan.steering
        restore(self.listeners, plan.extra.get(COUNTERS) or [])
        self._note()

    def on_validation(self, report: Any, state: Any) -> None:
        self._extra[HEARD] = self._extra[HEARD] | {"iteration": state.iteration}
        self._note()

    def on_epoch(self, report: Any, state: Any) -> None:
        self._extra[HEARD] = self._extra[HEARD] | {"epoch": state.epoch}
        self._note()

    def _note(self):
        if self.listeners:
            self._extra[COUNTERS] = [note_of(listener) for listener in self.listeners]
            self._extra[ENDING] = self._steering.state_to_end_with


def restore(listeners, notes):
    """Makes listeners go on from the counters that were recorded of them."""
    remaining = list(notes)
    for listener in listeners:
        noted = next((one for one in remaining if is_of(one, listener)), None)
        if noted is not None:
            remaining.remove(noted)
            listener.resume(noted["counters"])


def note_of(listener):
    """Returns a listener's counters, for JSON."""
    values = {name: getattr(listener, name) for name in listener.counters}
    plain = {name: plain_number(x) for name, x in values.items()}
    return {"type": type(listener).__name__, "monitor": monitor_of(listener), "counters": plain}


def plain_number(x):
    """Returns a value for JSON, which has no infinities: the largest numbers stand for them."""
    x = x.item() if isinstance(x, np.generic) else x
    return math.copysign(sys.float_info.max, x) if isinstance(x, float) and math.isinf(x) else x


def is_of(noted, listener):
    """Returns whether recorded counters belong to a listener of this type and monitor."""
    return (noted["type"], noted["monitor"]) == (type(listener).__name__, monitor_of(listener))


def monitor_of(listener):
    return getattr(listener, "monitor", None)
