"""Warnings of workers, in the log of the driver: each once."""

import logging
from contextlib import contextmanager
from threading import Lock

SPARKDL = logging.getLogger("sparkdl")
MOST, LONGEST = 100, 2000  # messages of one worker, letters of each; what is more stays with it

log = logging.getLogger(__name__)


class KeptWarnings(logging.Handler):
    """Keeps what a worker logs, from WARNING on, until its next word to the driver.

    It sends nothing itself: whoever logs may hold a lock, or be the connection to the driver.
    """

    def __init__(self):
        super().__init__(logging.WARNING)
        self.kept, self.count = [], 0

    def emit(self, record):
        self.count += 1
        if self.count <= MOST:
            self.kept.append((record.levelno, record.getMessage()[:LONGEST]))

    def take(self):
        """Returns [(level, text)] of what nobody has taken yet."""
        with self.lock:
            kept, self.kept = self.kept, []
        return kept


@contextmanager
def kept_warnings():
    """Yields the KeptWarnings of what sparkdl logs inside."""
    handler = KeptWarnings()
    SPARKDL.addHandler(handler)
    try:
        yield handler
    finally:
        SPARKDL.removeHandler(handler)


class WorkerLog:
    """Writes what workers have sent into this process's log; what several say stands there once."""

    def __init__(self):
        self._said, self._lock = set(), Lock()

    def write(self, rank, host, messages):
        """Logs [(level, text)] of a worker."""
        for level, text in map(tuple, messages):
            with self._lock:
                is_new = (level, text) not in self._said
                self._said.add((level, text))
            if is_new:
                log.log(level, "rank %d on %s: %s", rank, host, text)
