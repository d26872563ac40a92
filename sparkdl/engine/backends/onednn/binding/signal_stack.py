"""An alternate signal stack, as one oneDNN kernel uses the stack pointer for other data.

Products of recurrent layers do so in sgemm for AVX-512: the pointer then points into a heap block.
Without an alternate stack, the system writes the frame of a signal, of Ctrl-C or a timer, below it,
over other blocks, and the process crashes. Python's handlers ask for an alternate stack
(SA_ONSTACK), but Python sets one up only if faulthandler is on. A process handles signals in its
main thread.
"""

import ctypes
import sys
import threading
from functools import cache

SIZE = 1 << 18  # bytes; a frame with all AMX registers takes 11,000
DISABLED = 2  # SS_DISABLE


class Stack(ctypes.Structure):
    """stack_t of Linux"""

    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]


def provide_signal_stack():
    """Gives the main thread a signal stack; does nothing if it has one, or on other threads."""
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
    return memory  # kept alive by `cache`
