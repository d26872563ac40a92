"""The id of a GPU, the same for all processes that see it."""

import ctypes
from uuid import UUID

from sparkdl.errors import UnsupportedError

LIBRARY, SIZE = "libcuda.so.1", 16


def id_of(number):
    """Returns the id, such as "GPU-5fd4...", of the GPU that this process counts as `number`.

    By NVIDIA's driver itself: what CuPy tells of it (getDeviceProperties) ends at the first byte
    that is 0, or goes on behind the last.

    Raises
    ------
    UnsupportedError
        Without a driver, or the GPU.
    """
    try:
        driver = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise UnsupportedError(f"there is no driver of NVIDIA's: {error}") from None
    device, uuid = ctypes.c_int(), ctypes.create_string_buffer(SIZE)
    status = (
        driver.cuInit(0)
        or driver.cuDeviceGet(ctypes.byref(device), number)
        or driver.cuDeviceGetUuid_v2(uuid, device)
    )
    if status:
        raise UnsupportedError(f"NVIDIA's driver does not tell GPU {number}'s id: error {status}")
    return f"GPU-{UUID(bytes=uuid.raw)}"
