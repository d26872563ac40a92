"""Arrays in huge pages that grow without being copied.

Rows are read at random. In a table of gigabytes with 4 KiB pages, each row would cost a page table
walk besides its cache line, and realloc, which moves pages to arbitrary addresses, splits huge
pages.
"""

import ctypes
import math
import mmap
import weakref
from functools import cache

import numpy as np

PAGE = 1 << 21  # bytes of a huge page
LARGE = 4 * PAGE  # bytes from which an array gets pages of its own
NO_ACCESS, MAY_MOVE, FIXED = 0, 1, 2  # mmap's protection, and flags of mremap
FAILED = ctypes.c_void_p(-1).value


def allocate(shape, dtype):
    """Returns an array of zeros, in huge pages if it is large."""
    dtype = np.dtype(dtype)
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < LARGE or system() is None:
        return np.zeros(shape, dtype)
    return Pages(nbytes).array(shape, dtype)


def grow(array, length):
    """Extends an array with zero rows to `length` rows.

    The old array and its views must not be used any more: the memory may have moved.
    """
    shape, dtype = (length, *array.shape[1:]), array.dtype
    nbytes = math.prod(shape) * dtype.itemsize
    if isinstance(array.base, Pages):
        array.base.resize(nbytes)
        return array.base.array(shape, dtype)
    if nbytes < LARGE or system() is None:
        array.resize(shape, refcheck=False)
        return array
    grown = allocate(shape, dtype)
    grown[: len(array)] = array
    return grown


class Pages:
    """Zeros in huge pages, aligned to their size.

    Raises
    ------
    MemoryError
        If the system lacks memory, also in `resize`.
    """

    def __init__(self, nbytes):
        size = whole_pages(nbytes)
        address = reserve(size, mmap.PROT_READ | mmap.PROT_WRITE)
        system().madvise(check(address, size), size, mmap.MADV_HUGEPAGE)  # small pages if it fails
        self._own(address, size)

    def resize(self, nbytes):
        """Grows to at least `nbytes`, possibly at another address, keeping the content."""
        size = whole_pages(nbytes)
        if size <= self.size:
            return
        place = reserve(size, NO_ACCESS)  # address space only
        flags = MAY_MOVE if place == FAILED else MAY_MOVE | FIXED
        address = check(system().mremap(self.address, self.size, size, flags, place), size)
        self._end.detach()
        self._own(address, size)

    def array(self, shape, dtype):
        """Returns the first numbers as an array that keeps the memory alive."""
        place = {"data": (self.address, False), "typestr": dtype.str, "shape": shape}
        self.__array_interface__ = {"version": 3, **place}
        return np.asarray(self)

    def _own(self, address, size):
        self.address, self.size = address, size
        self._end = weakref.finalize(self, system().munmap, address, size)
        self._end.atexit = False  # other threads may still read


def reserve(size, protection):
    """Reserves `size` bytes at a multiple of PAGE; returns the address, or FAILED."""
    library, flags = system(), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    start = library.mmap(None, size + PAGE, protection, flags, -1, 0)
    if start == FAILED:
        return FAILED
    address = whole_pages(start)
    for first, last in (start, address), (address + size, start + size + PAGE):
        if first < last:
            library.munmap(first, last - first)
    return address


def whole_pages(number):
    """Rounds up to a multiple of PAGE."""
    return -(-number // PAGE) * PAGE


def check(address, size):
    """Returns the address, or raises MemoryError if it is FAILED."""
    if address == FAILED:
        raise MemoryError(f"the system cannot allocate {size} bytes for an array of a table")
    return address


@cache
def system():
    """Returns the C library with its signatures, or None if it cannot move pages."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mremap"):
        return None
    word, number = ctypes.c_size_t, ctypes.c_int
    library.mmap.restype = library.mremap.restype = word
    library.mmap.argtypes = [ctypes.c_void_p, word, number, number, number, ctypes.c_int64]
    library.mremap.argtypes = [word, word, word, number, word]
    library.munmap.argtypes = [word, word]
    library.madvise.argtypes = [word, word, number]
    return library
