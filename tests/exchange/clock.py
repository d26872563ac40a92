"""Time, for tests that put it forward."""

import time


class Clock:
    """Stands in for the module `time`; `ahead` is by how many seconds it is."""

    ahead = 0.0

    def monotonic(self):
        return time.monotonic() + self.ahead
