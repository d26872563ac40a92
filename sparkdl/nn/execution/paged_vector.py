"""A vector at a fixed address whose slices have memory only while in use."""

import ctypes
import errno
import mmap
import os
import sys
import weakref
from functools import cache

import numpy as np

from sparkdl.errors import UnsupportedError

PRIVATE, ANONYMOUS, NO_RESERVE = 0x02, 0x20, 0x4000
NO_ACCESS, READ_AND_WRITE, FORGET = 0, 3, 4
FAILED = ctypes.c_void_p(-1).value


class PagedVector:
    """Float32 numbers at a fixed address, as programs need, with pages allocated on demand.

    A slice that is not in use has no memory: reading or writing it kills the process, so no program
    silently computes with released values. A page shared by two slices stays while either is in
    use.

    Parameters
    ----------
    size : int
        Length of the vector.

    Raises
    ------
    UnsupportedError
        On systems other than Linux.

    Attributes
    ----------
    values : float32 (size,)
    """

    def __init__(self, size):
        if sys.platform != "linux":
            raise UnsupportedError(f"vectors that come and go need Linux, got {sys.platform}")
        length = max(1, -(-4 * size // mmap.PAGESIZE)) * mmap.PAGESIZE
        flags = PRIVATE | ANONYMOUS | NO_RESERVE
        self._start = library().mmap(None, length, NO_ACCESS, flags, -1, 0)
        if self._start == FAILED:
            raise_error()
        memory = (ctypes.c_char * length).from_address(self._start)
        weakref.finalize(memory, library().munmap, self._start, length)
        self.values = np.frombuffer(memory, np.float32, size)
        self._users = np.zeros(length // mmap.PAGESIZE, np.int32)

    @property
    def nbytes(self):
        """Bytes that currently have memory."""
        return int(np.count_nonzero(self._users)) * mmap.PAGESIZE

    def acquire(self, part):
        """Allocates the memory of a slice, with undefined content; MemoryError if there is none."""
        first, last = pages(part)
        self._users[first:last] += 1
        self._protect(first, last, READ_AND_WRITE)

    def release(self, part):
        """Frees the memory of an acquired slice."""
        first, last = pages(part)
        self._users[first:last] -= 1
        (unused,) = np.nonzero(self._users[first:last] == 0)
        if len(unused):  # only the first and last page can be shared with neighbors
            first, last = first + int(unused[0]), first + int(unused[-1]) + 1
            self._call("madvise", first, last, FORGET)
            self._protect(first, last, NO_ACCESS)

    def _protect(self, first, last, access):
        self._call("mprotect", first, last, access)

    def _call(self, name, first, last, argument):
        start, length = self._start + first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE
        if length and getattr(library(), name)(start, length, argument):
            raise_error()


def pages(part):
    """Returns (first page, one past the last page) of a slice of float32 numbers."""
    if part.start == part.stop:
        return 0, 0
    return 4 * part.start // mmap.PAGESIZE, -(-4 * part.stop // mmap.PAGESIZE)


def raise_error():
    number = ctypes.get_errno()
    kind = MemoryError if number == errno.ENOMEM else OSError
    raise kind(f"memory for a vector: {os.strerror(number)}")


@cache
def library():
    """Returns the C library with the signatures of the functions called here."""
    found = ctypes.CDLL(None, use_errno=True)
    place, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    found.mmap.restype = place
    found.mmap.argtypes = (place, size, number, number, number, ctypes.c_long)
    found.munmap.argtypes = (place, size)
    found.mprotect.argtypes = found.madvise.argtypes = (place, size, number)
    return found
