"""Memory whose every number is NaN until it is written: a kernel that reads too early is seen."""

import os
from contextlib import contextmanager

from sparkdl import engine

NAN = 0xFF  # each byte; as bfloat16, float32 and float64 that is NaN
PATTERN = {"MALLOC_PERTURB_": "128"}  # glibc fills what malloc gives with 0x7f: 3.4e38


@contextmanager
def of_nan(name):
    """Programs that are compiled in the block for the backend `name` get such memory."""
    backend = engine.backends.get(name)

    def empty(size):
        memory = type(backend).empty(backend, size)
        memory[:] = NAN
        return memory

    backend.empty = empty
    try:
        yield
    finally:
        del backend.empty


def fill_in_processes():
    """Processes that are started from now on fill what libraries allocate as well."""
    os.environ.update(PATTERN)
