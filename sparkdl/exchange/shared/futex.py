"""Sleep until another process changes a number in shared memory (Linux's futex)."""

import ctypes
import platform
import sys
from functools import cache

SYSTEM_CALL = {"x86_64": 202}
WAIT, WAKE = 0, 1
EVERYONE = 2**31 - 1
SLICE = 0.1  # seconds of sleep at most, then the sleeper looks who is alive


class _Duration(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_SLICE = _Duration(0, int(SLICE * 1e9))


def is_supported():
    """Returns whether processes can wait for each other this way here.

    What one process writes must be seen by others in the order in which it was written. x86-64
    promises that, others do not.
    """
    return sys.platform == "linux" and platform.machine() in SYSTEM_CALL


def sleep(address, value):
    """Waits until the number (32 bits) at `address` is no longer `value`, or for SLICE seconds.

    It may return early, so a caller looks at the number again. Other threads go on meanwhile.
    """
    _system_call()(SYSTEM_CALL[platform.machine()], address, WAIT, value, ctypes.addressof(_SLICE))


def wake(address):
    """Wakes all processes that sleep at `address`."""
    _system_call()(SYSTEM_CALL[platform.machine()], address, WAKE, EVERYONE, None)


@cache
def _system_call():
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    call.argtypes = (
        ctypes.c_long,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_uint32,
        ctypes.c_void_p,
    )
    return call
