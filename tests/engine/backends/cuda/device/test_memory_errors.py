"""A lack of memory is recognized in the libraries' own words."""

import pytest

from sparkdl.engine.backends.cuda.device.memory_errors import error_of
from sparkdl.errors import DeviceError

LACKS = [
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation: out of memory",
]


@pytest.mark.parametrize("message", LACKS)
def test_a_lack_of_memory_is_a_memory_error(message):
    error = error_of("cuDNN", message)
    assert type(error) is MemoryError
    assert str(error) == f"cuDNN has no memory: {message}; smaller batches need less"


@pytest.mark.parametrize("message", ["CUDNN_STATUS_NOT_SUPPORTED", "CUBLAS_STATUS_INTERNAL_ERROR"])
def test_another_failure_is_the_devices(message):
    error = error_of("cuDNN", message)
    assert type(error) is DeviceError and str(error) == f"cuDNN failed: {message}"
