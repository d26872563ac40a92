"""The report of a worker's end to the driver."""

import pytest

from sparkdl.errors import DivergedError, PeerError, ShapeError, WorkerError
from sparkdl.training.resident.control import is_loss

GONE = ModuleNotFoundError("No module named 'sparkdl.engine'", name="sparkdl.engine")
ENDS = {
    "a worker is gone": (WorkerError("rank 1 is gone"), True),
    "a peer is silent": (PeerError(1, "a", "is silent"), True),
    "a disk is full": (OSError(28, "No space left on device"), True),
    "no memory": (MemoryError(), True),
    "files of a container that is removed": (GONE, True),
    "a module asked of its package": (
        ImportError("cannot import name 'device' from 'sparkdl.nn'", name="sparkdl.nn"),
        True,
    ),
    "a module of the user's": (ModuleNotFoundError("No module named 'mine'", name="mine"), False),
    "a module without a name": (ModuleNotFoundError("no module"), False),
    "weights that are not finite": (DivergedError("the loss is nan"), False),
    "shapes": (ShapeError("rows of 3"), False),
    "an error of the user's": (KeyError("a"), False),
}


@pytest.mark.parametrize("error, begins_anew", ENDS.values(), ids=list(ENDS))
def test_whether_workers_begin_anew(error, begins_anew):
    assert is_loss(error) == begins_anew
