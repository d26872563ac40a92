"""The pool of threads that oneDNN uses: OpenMP's, by the entry that GCC compiles into programs."""

import ctypes
import os
import threading
from contextlib import contextmanager
from functools import lru_cache, partial

LIBRARY = "libgomp.so.1"
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # of what each thread of the pool runs


class ThreadPool(threading.local):
    """Runs a function on as many threads as OpenMP would take now, this one among them.

    `shrink` lets this thread work alone; `grow` gives it the others again.
    """

    def __init__(self, library):
        self.parallel = library.GOMP_parallel
        self.parallel.restype = None
        self.parallel.argtypes = None
        self.number = address(library.omp_get_thread_num)
        self.count = address(library.omp_get_num_threads)
        self.get_size, self.set_size = library.omp_get_max_threads, library.omp_set_num_threads
        self.before = None  # how many threads there were when this one was left alone

    def shrink(self):
        if self.before is None:  # else a program was interrupted before it could grow
            self.before = self.get_size()
        self.set_size(1)

    def grow(self):
        if self.before is not None:
            self.set_size(self.before)
        self.before = None

    @contextmanager
    def alone(self):
        """Runs what is inside `with` on this thread alone."""
        self.shrink()
        try:
            yield
        finally:
            self.grow()


class AtOnce:
    """A call that runs `calls` at the same time, a thread of the pool each.

    Inside each of them OpenMP has one thread. Where the pool has fewer threads some run one after
    the other. The first error of theirs is raised when all have ended.
    """

    def __init__(self, team, calls):
        self.team, self.left, self.errors = team, [], []
        self.calls = tuple(calls)
        self.entry = ENTRY(partial(run_some, self.left, self.errors))
        self.count = ctypes.c_uint(len(self.calls))

    def __call__(self):
        self.left[:], self.errors[:] = self.calls, ()
        self.team.parallel(self.entry, None, self.count, ctypes.c_uint(0))
        if self.errors:
            raise self.errors[0]


def run_some(left, errors, _):
    """Runs calls until there are none left, beside other threads that do so."""
    try:
        while True:
            try:
                call = left.pop()
            except IndexError:
                return
            call()
    except BaseException as error:  # it must not end in OpenMP's thread
        errors.append(error)


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


@lru_cache(maxsize=1)
def pool():
    """Returns the ThreadPool of the loaded libgomp, or None: a second pool would cost more."""
    try:
        return ThreadPool(ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD))
    except (OSError, AttributeError):
        return None
