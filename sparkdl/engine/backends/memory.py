"""Memory of the host for kernels that read whole cache lines."""

import numpy as np

from sparkdl.engine.planner import ALIGNMENT


def empty(size):
    """`size` bytes of uninitialised memory that begin at a cache line."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]
