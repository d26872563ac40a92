"""Sleep until another process changes a number in shared memory (Linux futex)."""

import ctypes
import platform
import sys
from functools import cache

SYSTEM_CALL = {"x86_64": 202}
WAIT, WAKE = 0, 1
EVERYONE = 2**31 - 1
SLICE = 0.1  # longest sleep in seconds; the sleeper then checks who is alive


class _Duration(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_SLICE = _Duration(0, int(SLICE * 1e9))


def is_supported():
    """Returns whether this kind of waiting works here.

    It relies on stores becoming visible to other processors in program order, which x86-64
    guarantees and other architectures do not.
    """
    return sys.platform == "linux" and platform.machine() in SYSTEM_CALL


def sleep(address, value):
    """Waits until the number (32 bits) at `address` is no longer `value`, or for SLICE seconds.

    It may return early, so the caller must check the number again. Other threads keep running.
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
