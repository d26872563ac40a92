"""Timing of the driver's requests for state, in addition to regular snapshots."""

import math
import time

SHARE = 0.02  # most of the time that may go into sending states
RATE = 200e6  # bytes per second, assumed for the first state


class SnapshotClock:
    """Decides when a state is due, so that sending takes only a small share of the time.

    Parameters
    ----------
    seconds : float or None
        Minimum interval between two states; None: a state is never due.
    state : TrainState
        The initial state of the workers; its size gives the first estimate of the time to send it.
    clock : function
        Gives seconds.
    """

    def __init__(self, seconds, state, clock=time.monotonic):
        self._seconds, self._clock = math.inf if seconds is None else seconds, clock
        self._awaited = 0  # rounds after which the requested state is sent
        self.restart(state.nbytes / RATE)

    def restart(self, cost):
        """Restarts the interval; `cost` is the seconds that the workers took to send the last
        state.
        """
        self._due = self._clock() + max(self._seconds, cost / SHARE)

    def wait_for(self, rounds):
        """Records that the state after this many rounds has been requested."""
        self._awaited = rounds

    def is_due(self, rounds):
        """Returns whether a state should be requested now, after this many rounds."""
        return rounds >= self._awaited and self._clock() >= self._due
