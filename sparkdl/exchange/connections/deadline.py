"""A time limit shared by several steps."""

import time


class Deadline:
    """A point in time `seconds` from now; None never expires."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self):
        """Returns the seconds left, None if unlimited; raises TimeoutError after the deadline."""
        if self._end is None:
            return None
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(f"not within {self.seconds:g} s")
        return seconds

    def has_passed(self, ahead=0.0):
        """Returns whether the deadline has passed, or will within `ahead` seconds."""
        return self._end is not None and time.monotonic() + ahead >= self._end
