"""Forwarding of workers' warnings to the driver's log, without duplicates."""

import logging
from contextlib import contextmanager
from threading import Lock

SPARKDL = logging.getLogger("sparkdl")
MOST, LONGEST = 100, 2000  # messages of a worker, characters of each; the rest is not sent

log = logging.getLogger(__name__)


class KeptWarnings(logging.Handler):
    """Keeps what a worker logs, from WARNING on, until its next message to the driver.

    It sends nothing itself, as the code that logs may hold a lock or be the connection to the
    driver.
    """

    def __init__(self):
        super().__init__(logging.WARNING)
        self.kept, self.count = [], 0

    def emit(self, record):
        self.count += 1
        if self.count <= MOST:
            self.kept.append((record.levelno, record.getMessage()[:LONGEST]))

    def take(self):
        """Returns and clears the kept [(level, text)]."""
        with self.lock:
            kept, self.kept = self.kept, []
        return kept


@contextmanager
def kept_warnings():
    """Provides the KeptWarnings of everything that sparkdl logs inside."""
    handler = KeptWarnings()
    SPARKDL.addHandler(handler)
    try:
        yield handler
    finally:
        SPARKDL.removeHandler(handler)


class WorkerLog:
    """Writes workers' messages to this process's log, each only once."""

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
