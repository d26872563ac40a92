"""Counters of listeners over a stream, each of whose micro-batches is a fit."""

from sparkdl.training.reporting.counters import note_of, restore
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.termination import TerminateOnTime


class StreamCounts(Listener):
    """Makes listeners count over all micro-batches: each begins where they were after the last.

    An EarlyStopping that restores the best weights does so after each micro-batch, so it begins
    anew with the next one. A TerminateOnTime counts from the first micro-batch of this process.

    Parameters
    ----------
    listeners : sequence of Listener
        Those of the fit; they are notified before this one.

    Attributes
    ----------
    notes : list
        Their counters after the last micro-batch, as JSON has them.
    """

    def __init__(self, listeners):
        self._counting = [one for one in listeners if one.counters and not restores(one)]
        self._timing = [one for one in listeners if isinstance(one, TerminateOnTime)]
        self._starts, self.notes = [], []

    def on_fit_start(self, plan):
        restore(self._counting, self.notes)
        self._starts = self._starts or [one.start for one in self._timing]
        for listener, start in zip(self._timing, self._starts, strict=True):
            listener.start = start

    def on_fit_end(self, history):
        self.notes = [note_of(one) for one in self._counting]


def restores(listener):
    """Returns whether a listener makes each micro-batch end with the weights of its best value."""
    return getattr(listener, "restore_best_weights", False)
