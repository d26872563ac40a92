"""The thread pool of oneDNN: OpenMP's, entered through the function that GCC calls."""

import ctypes
import os
import threading
from contextlib import contextmanager
from functools import lru_cache

LIBRARY = "libgomp.so.1"
WORTH_THREADS = 1 << 21  # bytes read and written: below it, waking threads does not pay
WORTH_PLANNED = 1 << 14  # the same if the threads are awake
SOFT = 1  # omp_pause_soft of OpenMP 5: threads may keep their state


class ThreadPool(threading.local):
    """Runs a function on as many threads as OpenMP would use, including this one.

    `shrink` restricts the calling thread to itself, `grow` undoes that. A process ends the other
    threads before it forks: threads do not survive a fork, and the child's first parallel work
    would wait for them forever. Both processes start as many new ones when they next need them,
    which takes some 100 microseconds.
    """

    def __init__(self, library):
        self.parallel = library.GOMP_parallel
        self.parallel.restype = None
        self.parallel.argtypes = None
        self.number = address(library.omp_get_thread_num)
        self.count = address(library.omp_get_num_threads)
        self.get_size, self.set_size = library.omp_get_max_threads, library.omp_set_num_threads
        self.pause = getattr(library, "omp_pause_resource_all", None)  # since GCC 9
        self.before = None  # the number of threads before `shrink`
        self.is_planned = False  # whether the number of threads was chosen for this kernel

    def is_worth(self, work):
        """Returns whether a call that reads and writes `work` bytes should run on all threads."""
        least = WORTH_PLANNED if self.is_planned else WORTH_THREADS
        return self.get_size() > 1 and work >= least

    def shrink(self):
        if self.before is None:  # else a program was interrupted before `grow`
            self.before = self.get_size()
        self.set_size(1)

    def grow(self):
        if self.before is not None:
            self.set_size(self.before)
        self.before = None

    def rest(self):
        """Ends the other threads until they are needed again."""
        if self.pause is not None:
            self.pause(SOFT)

    @contextmanager
    def planned(self):
        """Kernels made in the body of `with` use all threads, as what runs before them does."""
        before, self.is_planned = self.is_planned, True
        try:
            yield
        finally:
            self.is_planned = before

    @contextmanager
    def alone(self):
        """Runs the body of `with` single-threaded."""
        self.shrink()
        try:
            yield
        finally:
            self.grow()


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def pool():
    """Returns the ThreadPool of the loaded libgomp, or None: a second pool would cost more.

    None is not cached: tables run compiled loops in processes that load oneDNN, and libgomp with
    it, later or never.
    """
    try:
        return found_pool()
    except (OSError, AttributeError):
        return None


@lru_cache(maxsize=1)
def found_pool():
    """Returns the ThreadPool of the process; raises OSError or AttributeError without libgomp."""
    found = ThreadPool(ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD))
    os.register_at_fork(before=found.rest)
    return found
