"""The thread that causes a fault in the middle of a fit."""

import time
from threading import Event, Thread


class Striker(Thread):
    """Causes a fault once all workers together have trained `after` minibatches.

    Parameters
    ----------
    slow : Slow
        The transform of the fit.
    after : int
    fault : function of an Event
        Causes the fault, ends it once the Event is set at the latest, and returns whether it
        found a target.

    Attributes
    ----------
    struck : bool
        Whether the fault happened.
    wait : float
        The longest time, in seconds, without a new minibatch, from the fault to the last one.
    """

    def __init__(self, slow, after, fault):
        super().__init__(daemon=True)
        self._slow, self._after, self._fault = slow, after, fault
        self._over, self.struck, self.wait = Event(), False, 0.0

    def run(self):
        while len(self._slow.calls()) <= self._after:
            if self._over.wait(0.02):
                return
        cause = Thread(target=self._cause, daemon=True)
        cause.start()
        self._watch()
        cause.join()

    def _cause(self):
        self.struck = self._fault(self._over)

    def _watch(self):
        calls, last = len(self._slow.calls()), time.monotonic()
        while not self._over.wait(0.02):
            if (now := len(self._slow.calls())) > calls:
                self.wait = max(self.wait, time.monotonic() - last)
                calls, last = now, time.monotonic()

    def end(self):
        """Waits until the fault is over, or cancels it if it has not begun."""
        self._over.set()
        self.join()
