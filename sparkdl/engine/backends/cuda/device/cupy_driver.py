"""The driver by CuPy, on one device. Importing this touches no device."""

import os
from ctypes import addressof
from functools import cached_property

import numpy as np

from sparkdl.engine.backends.cuda.device import gpu_selection, nvrtc
from sparkdl.engine.backends.cuda.device.device_array import DeviceArray
from sparkdl.engine.backends.cuda.device.driver import Properties
from sparkdl.engine.backends.cuda.device.uuids import id_of
from sparkdl.errors import DeviceError, UnsupportedError, needs_package

PLENTY = 48 << 10  # bytes of shared memory that a kernel may have by default

UNDER_WAY = 600  # status of CUDA's runtime: not ready

REASONS = {  # by status of CUDA's runtime
    35: "there is no NVIDIA driver, or one too old for CuPy's CUDA",
    100: "there is a driver, but no device",
}


class CupyDriver:
    """See driver.Driver.

    Parameters
    ----------
    number : int
        Index of the device among those that CUDA_VISIBLE_DEVICES shows this process.

    Raises
    ------
    UnsupportedError
        If CuPy, NVRTC, the driver or the device is missing; says which.
    """

    def __init__(self, number=0):
        self.number, self.cuda = number, load_cupy()
        self.runtime, self.api = self.cuda.runtime, self.cuda.driver
        count = count_devices()
        if not 0 <= number < count:
            raise UnsupportedError(f"there is no GPU {number}: this process sees {count}")
        nvrtc.library()
        self.use()

    @cached_property
    def properties(self):
        properties = self.runtime.getDeviceProperties(self.number)
        return Properties(
            name=properties["name"].decode(),
            capability=(properties["major"], properties["minor"]),
            processors=properties["multiProcessorCount"],
            memory=properties["totalGlobalMem"],
            shared=properties["sharedMemPerBlockOptin"],
            id=id_of(self.number),
        )

    def use(self):
        self.runtime.setDevice(self.number)

    def free(self):
        self.use()
        return self.runtime.memGetInfo()[0]

    def allocate(self, size):
        self.use()
        try:
            memory = self.cuda.Memory(size)
        except self.runtime.CUDARuntimeError as error:
            needs = f"{self.properties.name} has {self.free():,} bytes free, {size:,} are needed"
            raise DeviceError(f"{needs}: {error}") from None
        return DeviceArray.at(memory.ptr, size, memory)

    def allocate_pinned(self, size):
        """Allocates from the system: CuPy's pool rounds up to a power of two and keeps it."""
        self.use()
        try:
            memory = self.cuda.PinnedMemory(max(size, 1), self.runtime.hostAllocPortable)
        except self.runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"the host cannot allocate {size:,} bytes of pinned memory: {error}"
            ) from None
        return np.frombuffer(self.cuda.PinnedMemoryPointer(memory, 0), np.uint8, size)

    def stream(self):
        self.use()
        return self.cuda.Stream(non_blocking=True)

    def address(self, stream):
        return stream.ptr

    def event(self):
        return self.cuda.Event(disable_timing=True)

    def record(self, event, stream):
        event.record(stream)

    def wait(self, stream, event):
        stream.wait_event(event)

    def synchronize(self, event):
        event.synchronize()

    def is_reached(self, event):
        """Returns whether the event is reached.

        Queries the status, as `event.done` remains False if the device has failed.
        """
        status = self.runtime.eventQuery(event.ptr)
        if status not in (0, UNDER_WAY):
            raise DeviceError(str(self.runtime.CUDARuntimeError(status)))
        return status == 0

    def upload(self, target, source, stream):
        self.copy(target.address, source.ctypes.data, target.nbytes, stream)

    def download(self, target, source, stream):
        self.copy(target.ctypes.data, source.address, target.nbytes, stream)

    def move(self, target, source, stream):
        self.copy(target.address, source.address, target.nbytes, stream)

    def copy(self, target, source, size, stream):
        """Copies; unified addressing tells host from device memory."""
        self.runtime.memcpyAsync(target, source, size, self.runtime.memcpyDefault, stream.ptr)

    def fill(self, target, byte, stream):
        self.runtime.memsetAsync(target.address, byte, target.nbytes, stream.ptr)

    def compile(self, text):
        module = self.cuda.function.Module()
        try:
            module.load(nvrtc.machine_code(text, self.properties.capability))
        except self.api.CUDADriverError as error:
            raise UnsupportedError(
                f"{self.properties.name} cannot load this code: {error}"
            ) from None
        return module

    def function(self, module, name):
        function = module.get_function(name)
        if self.properties.shared > PLENTY:
            limit = self.api.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            attribute = self.api.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
            room = self.properties.shared - self.api.funcGetAttribute(attribute, function.ptr)
            self.api.funcSetAttribute(function.ptr, limit, room)
        return function

    def launch(self, function, grid, block, arguments, shared, stream):
        words = shared, stream.ptr, addressof(arguments.pointers), 0
        self.api.launchKernel(function.ptr, *grid, *block, *words)

    def enqueue(self, work, stream):
        work(stream.ptr)

    def seconds(self, work, stream):
        begin, end = self.cuda.Event(), self.cuda.Event()
        begin.record(stream)
        work(stream.ptr)
        end.record(stream)
        end.synchronize()
        return self.cuda.get_elapsed_time(begin, end) / 1e3

    def begin(self, stream):
        """Begins a capture in relaxed mode, so that garbage collection may free memory in it."""
        stream.begin_capture(self.runtime.streamCaptureModeRelaxed)

    def end(self, stream):
        return stream.end_capture()

    def replay(self, graph, stream):
        graph.launch(stream)


def ids():
    """Returns the "GPU-..." id of each device that this process sees, in order.

    See `count_devices` for errors.
    """
    return [id_of(number) for number in range(count_devices())]


def count_devices():
    """Returns the number of devices that this process sees.

    Raises
    ------
    UnsupportedError
        If CuPy, a driver or a device is missing; says which.
    """
    runtime = load_cupy().runtime
    try:
        return runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        why = REASONS.get(error.status, "no GPU is available")
        visible = gpu_selection.describe_visible(os.environ.get(gpu_selection.VISIBLE))
        raise UnsupportedError(f"{why}: {error}; {visible}") from None


def load_cupy():
    """Returns cupy.cuda.

    Raises
    ------
    UnsupportedError
        If it cannot be loaded.
    """
    with needs_package("the backend cuda", "CuPy", "pip install 'sparkdl-hadoop[gpu]'"):
        import cupy.cuda
        import cupy.cuda.function
    return cupy.cuda
