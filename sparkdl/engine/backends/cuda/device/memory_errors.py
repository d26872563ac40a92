"""Recognizes a lack of memory in what NVIDIA's libraries say of a failure."""

import re

from sparkdl.errors import DeviceError

# CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, CUBLAS_STATUS_ALLOC_FAILED,
# CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation, std::bad_alloc
LACK = re.compile(r"ALLOC(ATION)?_FAILED|OUT[_ ]OF[_ ]MEMORY|MemoryAllocation|bad_alloc", re.I)


def lacks_memory(message):
    """Returns whether a library's message says that memory is lacking, on device or host."""
    return LACK.search(str(message)) is not None


def error_of(library, message):
    """Returns the error for a call of a library that failed.

    Without memory, our own kernels must not take over: they are slower, and they round in another
    way, so a worker would go on with other numbers than the rest.

    Parameters
    ----------
    library : its name
    message : its name for the status
    """
    if lacks_memory(message):
        return memory_error(library, message)
    return DeviceError(f"{library} failed: {message}")


def memory_error(library, message):
    """Returns the error for a library that has no memory."""
    return MemoryError(f"{library} has no memory: {message}; smaller batches need less")
