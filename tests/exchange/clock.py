"""A clock that tests can put forward."""

import time


class Clock:
    """Stands in for the module `time`, `ahead` seconds ahead of it."""

    ahead = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead
