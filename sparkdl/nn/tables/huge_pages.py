"""Arrays in huge pages that grow without being copied.

Rows are read at random. In pages of 4 KiB a row of a table of gigabytes costs a walk through the
page table beside its cache line, and realloc, which moves pages to any address, splits large ones.
"""

import ctypes
import math
import mmap
import weakref
from functools import cache

import numpy as np

PAGE = 1 << 21  # bytes of a huge page
LARGE = 4 * PAGE  # bytes from which on an array has pages of its own
NO_ACCESS, MAY_MOVE, FIXED = 0, 1, 2  # of mmap, and flags of mremap
FAILED = ctypes.c_void_p(-1).value


def allocate(shape, dtype):
    """Returns an array of zeros, in huge pages where it is large."""
    dtype = np.dtype(dtype)
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes < LARGE or system() is None:
        return np.zeros(shape, dtype)
    return Pages(nbytes).array(shape, dtype)


def grow(array, length):
    """Returns the rows of an array and zeros after them, `length` rows in all.

    The old array, and views of it, must not be used any more: their memory may be elsewhere.
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
    """Zeros in huge pages, at an address that is a multiple of theirs.

    Raises
    ------
    MemoryError
        Where the system has not so much, in `resize` as well.
    """

    def __init__(self, nbytes):
        size = whole_pages(nbytes)
        address = reserve(size, mmap.PROT_READ | mmap.PROT_WRITE)
        system().madvise(check(address, size), size, mmap.MADV_HUGEPAGE)  # else in small ones
        self._own(address, size)

    def resize(self, nbytes):
        """Has more bytes, at another address; those that were there stay."""
        size = whole_pages(nbytes)
        if size <= self.size:
            return
        place = reserve(size, NO_ACCESS)  # an address alone
        flags = MAY_MOVE if place == FAILED else MAY_MOVE | FIXED
        address = check(system().mremap(self.address, self.size, size, flags, place), size)
        self._end.detach()
        self._own(address, size)

    def array(self, shape, dtype):
        """Returns the first numbers as an array, which keeps the memory."""
        place = {"data": (self.address, False), "typestr": dtype.str, "shape": shape}
        self.__array_interface__ = {"version": 3, **place}
        return np.asarray(self)

    def _own(self, address, size):
        self.address, self.size = address, size
        self._end = weakref.finalize(self, system().munmap, address, size)
        self._end.atexit = False  # other threads may still read


def reserve(size, protection):
    """Returns the address, a multiple of PAGE, of so many bytes of nobody else; or FAILED."""
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
    """Returns the multiple of PAGE that is next."""
    return -(-number // PAGE) * PAGE


def check(address, size):
    """Returns the address that the system gave, unless that is FAILED."""
    if address == FAILED:
        raise MemoryError(f"the system has not {size} bytes for an array of a table")
    return address


@cache
def system():
    """Returns the C library with its types, or None where it cannot move pages."""
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
