"""CuPy's calls as its version 14.2.0 declares them, on the host: CupyDriver runs unchanged.

Streams do at once what is put on them, or keep it where they are captured. Machine code is CUDA C,
`code_of` gives in the place of NVRTC. test_cupy_driver.py holds the signatures beside those of the
real CuPy, where there is one.
"""

import ctypes
from time import perf_counter
from types import SimpleNamespace

from tests.support.cuda.compiler import compiled as by_gcc
from tests.support.cuda.host_driver import Dim, aligned

MEMORY = 1 << 30
DEVICE = {
    "name": b"the host by CuPy's calls",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 2,
    "totalGlobalMem": MEMORY,
    "sharedMemPerBlockOptin": 227 << 10,
    "uuid": bytes(range(16)),
}


class CUDARuntimeError(RuntimeError):
    status = 2


class CUDADriverError(RuntimeError):
    pass


class Memory:
    def __init__(self, size):
        if size > MEMORY:
            raise CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")
        self.size, self.content = size, aligned(size)
        self.ptr = self.content.ctypes.data if size else 0


class PinnedMemory(Memory):
    def __init__(self, size, flags=0):
        super().__init__(size)


def PinnedMemoryPointer(mem, offset):
    return memoryview(mem.content)[offset:]


class Stream:
    made = {}

    def __init__(self, null=False, non_blocking=False, ptds=False, priority=None):
        self.ptr, self.captured, self.mode = id(self), None, None
        self.made[self.ptr] = self

    def put(self, call, *words):
        if self.captured is None:
            call(*words)
        else:
            self.captured.append((call, words))

    def wait_event(self, event):
        assert isinstance(event, Event)

    def begin_capture(self, mode=None):
        self.captured, self.mode = [], mode

    def end_capture(self):
        calls, self.captured = self.captured, None
        return Graph(calls)


class Event:
    def __init__(self, block=False, disable_timing=False, interprocess=False):
        self.ptr, self.timing, self.at = id(self), not disable_timing, None

    def record(self, stream=None):
        assert isinstance(stream, Stream)
        self.at = perf_counter()

    def synchronize(self):
        pass


def eventQuery(event):
    return 0


def get_elapsed_time(start_event, end_event):
    """In milliseconds."""
    assert start_event.timing and end_event.timing
    return 1e3 * (end_event.at - start_event.at)


class Graph:
    def __init__(self, calls):
        self.calls = calls

    def launch(self, stream=None):
        assert isinstance(stream, Stream)
        for call, words in self.calls:
            call(*words)


class Module:
    def __init__(self):
        self.library = None

    def load(self, cubin):
        if not isinstance(cubin, bytes):
            raise TypeError("Argument 'cubin' has incorrect type")
        try:
            self.library = by_gcc(cubin.decode())
        except ValueError:
            raise CUDADriverError("CUDA_ERROR_INVALID_IMAGE: no kernel image") from None

    def get_function(self, name):
        return Function(self, name)


class Function:
    made = {}

    def __init__(self, module, funcname):
        self.module, self.entry = module, getattr(module.library, f"launch_{funcname}")
        self.ptr, self.most = id(self), 48 << 10
        self.made[self.ptr] = self


def memcpyAsync(dst, src, size, kind, stream):
    assert kind == runtime.memcpyDefault
    Stream.made[stream].put(ctypes.memmove, dst, src, size)


def memsetAsync(ptr, value, size, stream):
    Stream.made[stream].put(ctypes.memset, ptr, value, size)


def launchKernel(
    f,
    grid_dim_x,
    grid_dim_y,
    grid_dim_z,
    block_dim_x,
    block_dim_y,
    block_dim_z,
    shared_mem_bytes,
    stream,
    kernel_params,
    extra,
):
    function = Function.made[f]
    assert shared_mem_bytes <= function.most and extra == 0
    grid = Dim(grid_dim_x, grid_dim_y, grid_dim_z)
    block = Dim(block_dim_x, block_dim_y, block_dim_z)
    words = grid, block, ctypes.c_size_t(shared_mem_bytes), ctypes.c_void_p(kernel_params)
    Stream.made[stream].put(function.entry, *words)


def funcGetAttribute(attribute, f):
    assert attribute == driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES and f in Function.made
    return 1 << 10


def funcSetAttribute(f, attribute, value):
    assert attribute == driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    Function.made[f].most = value


runtime = SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    getDeviceCount=lambda: 1,
    getDeviceProperties=lambda device: dict(DEVICE),
    setDevice=lambda device: None,
    eventQuery=eventQuery,
    memGetInfo=lambda: (MEMORY // 2, MEMORY),
    memcpyAsync=memcpyAsync,
    memsetAsync=memsetAsync,
    memcpyDefault=4,
    hostAllocPortable=1,
    streamCaptureModeRelaxed=2,
)
driver = SimpleNamespace(
    CUDADriverError=CUDADriverError,
    launchKernel=launchKernel,
    funcGetAttribute=funcGetAttribute,
    funcSetAttribute=funcSetAttribute,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES=1,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
)
function = SimpleNamespace(Module=Module)


def code_of(text, capability, *options):
    return text.encode(), ""
