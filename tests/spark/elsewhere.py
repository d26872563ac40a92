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


LIMIT = 200.0  # seconds
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


def locate(host, place, items):
    """Where a worker is among those that train together."""
    yield os.getpid(), tuple(place), list(items)


def note(host, folder, place, items):
    """Writes down where it is and which blocks it has."""
    device = describe_device(choose_backend("cuda"))
    found = [device, [place.rank, place.size], [key for key, _ in items]]
    Path(folder, str(place.rank)).write_text(json.dumps(found))
    return iter(())


def noted(folder):
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def refuse(host, place, items):
    """Rank 1 raises it; the other goes on."""
    if place.rank == 1:
        raise DataError("rank 1 has a bad record")
    time.sleep(LIMIT)


def vanish(host, place, items):
    if place.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(LIMIT)
