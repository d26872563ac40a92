"""Functions that the processes of tasks compute in the tests, which return all their input."""

import json
import os
import signal
import time
from pathlib import Path

from sparkdl.errors import DataError, ShapeError
from sparkdl.nn.execution.device import choose_backend, describe_device


class Unpackable(Exception):
    def __init__(self, one, two):
        super().__init__("no way back")


LIMIT = 200.0  # seconds for others to come
ERRORS = {
    "ours": DataError("record 7: features must be finite"),
    "a shape": ShapeError("features must be (6,), got (5,)"),
    "Python's": ZeroDivisionError("division by zero"),
    "one that does not travel": Unpackable(1, 2),
}


def doubled(host, items):
    """Two results for each item, and one at the end; `host` has brought the device."""
    for item in items:
        yield os.getpid(), item
        yield os.getpid(), 2 * item
    yield os.getpid(), "end"


def value(host, shared, items):
    yield shared.value
    yield from items


def place(items):
    """Where it computes, as all find it who make a replica."""
    yield choose_backend("cuda")


def fail(host, kind, items):
    yield next(items)
    raise ERRORS[kind]


def die(host, items):
    os.kill(os.getpid(), signal.SIGKILL)
    yield next(items)


def hang(host, items):
    yield next(items)
    time.sleep(200)


def meet(host, timeout, meeting, items):
    found = meeting.all_gather(f"rank {meeting.rank} of {meeting.size}", timeout)
    yield os.getpid(), found, list(items)


def note(host, folder, meeting, items):
    """Writes down where it is, whom it meets and which blocks it has."""
    met = meeting.all_gather(f"{meeting.rank} of {meeting.size}", LIMIT)
    found = [describe_device(choose_backend("cuda")), met, [key for key, _ in items]]
    Path(folder, str(meeting.rank)).write_text(json.dumps(found))
    return iter(())


def noted(folder):
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def refuse(host, meeting, items):
    """Rank 1 raises it; the other would wait for it."""
    if meeting.rank == 1:
        raise DataError("rank 1 has a bad record")
    meeting.all_gather("here", LIMIT)
    return iter(())


def vanish(host, meeting, items):
    if meeting.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    meeting.all_gather("here", LIMIT)
    return iter(())
