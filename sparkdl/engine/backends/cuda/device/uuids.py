"""The id of a GPU, the same in all processes that see it."""

import ctypes
from uuid import UUID

from sparkdl.errors import UnsupportedError

LIBRARY, SIZE = "libcuda.so.1", 16


def id_of(number):
    """Returns the id, such as "GPU-5fd4...", of GPU `number` of this process.

    It comes from NVIDIA's driver, as CuPy's (getDeviceProperties) is cut at the first zero byte, or
    runs past the end.

    Raises
    ------
    UnsupportedError
        If the driver or the GPU is missing.
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
