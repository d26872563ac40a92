"""Buffers for float32 minibatches, reused after earlier minibatches are released.

The system zeroes new memory, which takes as long as filling it with a minibatch of images.
"""

import math
import threading
import weakref
from collections import deque

import numpy as np

LEAST = 1 << 20  # bytes; the allocator reuses smaller blocks
BUFFERS_OF_A_SIZE = 4  # for those in a prefetch queue, and one at each end of it
SIZES = 4  # number of sizes; buffers of the least recently used ones are freed

_free: dict[int, deque] = {}
_lock = threading.RLock()  # a collection may give a buffer back while its thread takes one


def float_buffer(shape):
    """Returns an uninitialized float32 array, like np.empty.

    Its memory is reclaimed when it and all views of it are gone.
    """
    size = 4 * math.prod(shape)
    if size < LEAST:
        return np.empty(shape, np.float32)
    buffer = _take_buffer(size)
    y = np.frombuffer(buffer, np.float32)  # so that views refer to y, not to the buffer
    weakref.finalize(y, _give_back, buffer).atexit = False
    return y.reshape(shape)


def _take_buffer(size):
    with _lock:
        buffers = _free.pop(size, None) or deque()
        _free[size] = buffers  # now the most recently used
        while len(_free) > SIZES:
            del _free[next(iter(_free))]
        return buffers.pop() if buffers else memoryview(np.empty(size, np.uint8))


def _give_back(buffer):
    with _lock:
        buffers = _free.get(len(buffer))
        if buffers is not None and len(buffers) < BUFFERS_OF_A_SIZE:
            buffers.append(buffer)
