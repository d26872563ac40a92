"""When the driver asks workers for their state, besides the rounds after which they send it."""

import math
import time

SHARE = 0.02  # of the time that may go into sending states
RATE = 200e6  # bytes a second, for the first one


class SnapshotClock:
    """Says when the state is due: so long after the last one that few of all seconds go into it.

    Parameters
    ----------
    seconds : float or None
        The least from one state to the next; None: it is never due.
    state : TrainState
        That the workers begin with; its size says what sending one may take.
    clock : function
        Gives seconds.
    """

    def __init__(self, seconds, state, clock=time.monotonic):
        self._seconds, self._clock = math.inf if seconds is None else seconds, clock
        self._awaited = 0  # rounds after which one comes that was asked for
        self.restart(state.nbytes / RATE)

    def restart(self, cost):
        """Counts from now on; `cost` is the seconds that the last one took the workers."""
        self._due = self._clock() + max(self._seconds, cost / SHARE)

    def wait_for(self, rounds):
        """Notes that the state after so many rounds has been asked for."""
        self._awaited = rounds

    def is_due(self, rounds):
        """Returns whether it is to be asked for now, after so many rounds."""
        return rounds >= self._awaited and self._clock() >= self._due
