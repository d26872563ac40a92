"""Waits for conditions of unknown delay, up to a limit."""

import time
from contextlib import suppress

import psutil

LIMIT = 200.0  # seconds


def until(found, limit=LIMIT):
    """Returns the first true value of `found()`."""
    deadline = time.monotonic() + limit
    while not (value := found()):
        assert time.monotonic() < deadline, f"nothing found within {limit:g} s"
        time.sleep(0.05)
    return value


def has_ended(pid):
    """Returns whether the process of this number has ended, as `gone`."""
    with suppress(psutil.NoSuchProcess):
        return gone(psutil.Process(pid))
    return True


def gone(process):
    """Returns whether a psutil.Process has ended, even if it was not reaped yet."""
    with suppress(psutil.NoSuchProcess):  # it may end between the two questions
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    return True
