"""A time limit on a wait that is made of several steps."""

import time


class Deadline:
    """A moment `seconds` from now; None never comes."""

    def __init__(self, seconds):
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self):
        """Returns the seconds until then, None if it never comes; TimeoutError when it has come."""
        if self._end is None:
            return None
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError(f"not within {self.seconds:g} s")
        return seconds

    def has_passed(self, ahead=0.0):
        """Returns whether the moment has come, or comes in the next `ahead` seconds."""
        return self._end is not None and time.monotonic() + ahead >= self._end
