"""Host memory for kernels that read whole cache lines."""

import numpy as np

from sparkdl.engine.planner import ALIGNMENT


class FlatVector:
    """A vector that programs read and write in place; see Backend.vector."""

    def __init__(self, values):
        self._values = values

    def open(self):
        return self._values


def empty(size):
    """Returns `size` bytes of uninitialized memory, aligned to a cache line."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]
