"""Waits for what comes in its own time; the limits are for what never comes."""

import time
from contextlib import suppress

import psutil

LIMIT = 200.0  # seconds


def until(found, limit=LIMIT):
    """What `found` gives, once it gives something."""
    deadline = time.monotonic() + limit
    while not (value := found()):
        assert time.monotonic() < deadline, f"nothing found within {limit:g} s"
        time.sleep(0.05)
    return value


def gone(process):
    """Whether a psutil.Process has ended, even if nobody has asked for its exit code."""
    with suppress(psutil.NoSuchProcess):  # it may end between the two questions
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    return True
