"""The pool of threads that oneDNN uses: OpenMP's, by the entry that GCC compiles into programs."""

import ctypes
import os
from functools import lru_cache

LIBRARY = "libgomp.so.1"


class ThreadPool:
    """Runs a function on as many threads as OpenMP would take now, this one among them."""

    def __init__(self, library):
        self.parallel = library.GOMP_parallel
        self.parallel.restype = None
        self.parallel.argtypes = None
        self.number = address(library.omp_get_thread_num)
        self.count = address(library.omp_get_num_threads)


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


@lru_cache(maxsize=1)
def pool():
    """Returns the Pool of the loaded libgomp, or None: a second pool would cost more."""
    try:
        return ThreadPool(ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD))
    except (OSError, AttributeError):
        return None
