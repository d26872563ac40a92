"""A stack for signals: a kernel of oneDNN's keeps its stack pointer elsewhere while it computes.

Products of recurrent layers do, in sgemm for AVX-512: the pointer then lies in a block of the heap.
Without a stack for signals the system writes the frame of one, of Ctrl-C or of a timer, below it,
over what other blocks hold, and the process ends. Python asks for that stack for its handlers
(SA_ONSTACK), but gives none unless faulthandler is on. Signals of a process go to its main thread.
"""

import ctypes
import sys
import threading
from functools import cache

SIZE = 1 << 18  # bytes; a frame with all registers of AMX takes 11,000
DISABLED = 2  # SS_DISABLE


class Stack(ctypes.Structure):
    """stack_t of Linux"""

    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


def provide_signal_stack():
    """Gives the main thread a stack for signals, unless it has one or another thread calls."""
    if threading.current_thread() is threading.main_thread() and sys.platform == "linux":
        _provide()


@cache
def _provide():
    library, present = ctypes.CDLL(None), Stack()
    library.sigaltstack(None, ctypes.byref(present))
    if not present.flags & DISABLED:
        return None
    memory = ctypes.create_string_buffer(SIZE)
    library.sigaltstack(ctypes.byref(Stack(ctypes.addressof(memory), 0, SIZE)), None)
    return memory  # `cache` keeps it
