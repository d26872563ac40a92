"""Buffers for float32 minibatches, reused once the minibatch before is released.

The system clears each page of new memory: for a minibatch of images that takes as long as filling
it.
"""

import math
import threading
import weakref
from collections import deque

import numpy as np

LEAST = 1 << 20  # bytes; below that the allocator has memory at hand
BUFFERS_OF_A_SIZE = 4  # buffers of a size: those in a prefetch queue, and one at each end of it
SIZES = 4  # of different sizes; those used longest ago are given back to the system

_free: dict[int, deque] = {}
_lock = threading.Lock()


def float_buffer(shape):
    """Returns a float32 array of any content, as np.empty gives.

    Its memory is taken back when it and all arrays that are views of it are gone.
    """
    size = 4 * math.prod(shape)
    if size < LEAST:
        return np.empty(shape, np.float32)
    buffer = _take_buffer(size)
    y = np.frombuffer(buffer, np.float32)  # views of it refer to it, since memory owns no array
    weakref.finalize(y, _give_back, buffer).atexit = False
    return y.reshape(shape)


def _take_buffer(size):
    with _lock:
        buffers = _free.pop(size, None) or deque()
        _free[size] = buffers  # now the last one, as the one used most recently
        while len(_free) > SIZES:
            del _free[next(iter(_free))]
        return buffers.pop() if buffers else memoryview(np.empty(size, np.uint8))


def _give_back(buffer):
    with _lock:
        buffers = _free.get(len(buffer))
        if buffers is not None and len(buffers) < BUFFERS_OF_A_SIZE:
            buffers.append(buffer)
