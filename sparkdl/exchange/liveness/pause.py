"""Detects when this process itself was paused, so that its own silence is not blamed on a peer."""


class PauseDetector:
    """The time since when this process has looked at its peers without a break.

    One that was stopped, or starved, has heard nothing meanwhile, whatever they have sent.

    Parameters
    ----------
    timeout : float
        Seconds of silence after which a peer counts as dead; half of them not to look is a break.
    now : float
        The first look, by the monotonic clock.

    Attributes
    ----------
    since : float
        When silence begins to count.
    """

    def __init__(self, timeout, now):
        self._break = timeout / 2
        self.begin(now)

    def begin(self, now):
        """Begins after a time in which there was nothing to look for."""
        self.since = self._last = now

    def unbroken(self, now):
        """Returns whether there was no pause before this look; after one, silence counts anew."""
        unbroken = now - self._last <= self._break
        if not unbroken:
            self.since = now
        self._last = now
        return unbroken
