"""Functions that run in the processes of tasks; they pass on all their input."""

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
    """Yields two results for each item and one at the end; `host` has brought the device."""
    for item in items:
        yield os.getpid(), item
        yield os.getpid(), 2 * item
    yield os.getpid(), "end"


def value(host, shared, items):
    yield shared.value
    yield from items


def place(items):
    """Yields the backend that a replica made here would choose."""
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
    """Yields a worker's place in the team."""
    yield os.getpid(), tuple(place), list(items)


def note(host, folder, place, items):
    """Writes down the device, the rank and the blocks."""
    device = describe_device(choose_backend("cuda"))
    found = [device, [place.rank, place.size], [key for key, _ in items]]
    Path(folder, str(place.rank)).write_text(json.dumps(found))
    return iter(())


def noted(folder):
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir()}


def refuse(host, place, items):
    """Raises an error at rank 1; the other rank goes on."""
    if place.rank == 1:
        raise DataError("rank 1 has a bad record")
    time.sleep(LIMIT)


def vanish(host, place, items):
    if place.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(LIMIT)
