"""Detects when this process itself was paused, so that its own silence is not blamed on a peer."""


class PauseDetector:
    """Tracks since when this process has checked its peers without interruption.

    A process that was stopped or starved has received nothing, whatever its peers have sent.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which a peer counts as dead; half of that between two checks counts
        as an interruption.
    now : float
        Monotonic time of the first check.

    Attributes
    ----------
    since : float
        Monotonic time from which silence counts.
    """

    def __init__(self, timeout, now):
        self._break = timeout / 2
        self.begin(now)

    def begin(self, now):
        """Restarts after a time in which there was nothing to check."""
        self.since = self._last = now

    def unbroken(self, now):
        """Returns whether there was no pause before this check; after one, silence counts anew."""
        unbroken = now - self._last <= self._break
        if not unbroken:
            self.since = now
        self._last = now
        return unbroken
