"""Host memory and its device counterpart, each brought up to date on demand."""

from weakref import WeakSet

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import DeviceArray, Owner


class DeviceMirror:
    """A span of host memory that programs read and write on the device.

    Parameters
    ----------
    device : Device
    host : ndarray of uint8
    watched : whether all host accesses go through `open`; otherwise it is copied to the device
            before each run and back after it
    array : the array that `open` returns for that memory
    """

    def __init__(self, device, host, watched, array=None):
        self.device, self.host, self.watched, self.array = device, host, watched, array
        self.memory = device.driver.allocate(max(host.nbytes, 1))[: host.nbytes]
        self.transfer_event = device.driver.event()
        self.host_newer, self.device_newer, self.arriving = True, False, False

    @property
    def original(self):
        """The vector in device memory."""
        return self.memory.view(self.array.dtype)

    def upload(self):
        """Updates the device if the host memory may have been written."""
        if self.host_newer or not self.watched:
            self.device.driver.upload(self.memory, self.host, self.device.stream)
            self.device.driver.record(self.transfer_event, self.device.stream)
        self.host_newer = False

    def mark_written(self):
        """Notes that programs that write this memory have been queued."""
        self.device_newer = True

    def download(self):
        """Updates the host; on return it may be read and written."""
        if self.arriving:  # a program downloads it in parts, and reports each
            return
        if self.device_newer:
            with self.device.lock:
                self.device.driver.use()
                self.device.driver.download(self.host, self.memory, self.device.stream)
                self.device.driver.record(self.transfer_event, self.device.stream)
        self.device.driver.synchronize(self.transfer_event)
        self.device_newer = False

    def open(self):
        """Returns the host array for reading and possibly writing."""
        self.download()
        self.host_newer = True
        return self.array

    def part(self, array):
        """Returns (host bytes, device bytes) of a contiguous device array in this memory."""
        part = array.flat_bytes()
        start = part.address - self.memory.address
        return self.host[start : start + part.nbytes], part

    def device_view(self, array):
        """Returns the device array for a host array in this memory, or None."""
        low, high = np.lib.array_utils.byte_bounds(array)
        start = self.host.ctypes.data
        if not start <= low <= high <= start + self.host.nbytes:
            return None
        memory = np.asarray(Owner(self.memory.address + low - start, high - low, self.memory))
        view = np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
        return DeviceArray(view)


class Mirrors:
    """Mirrors of one device: watched vectors of replicas, and memory that programs are bound to."""

    def __init__(self, device):
        self.device, self.watched = device, WeakSet()

    def vector(self, values):
        """Returns the DeviceMirror of a new array with these values."""
        host = self.device.driver.allocate_pinned(max(values.nbytes, 1))[: values.nbytes]
        array = host.view(values.dtype).reshape(values.shape)
        np.copyto(array, values)
        mirror = DeviceMirror(self.device, host, watched=True, array=array)
        self.watched.add(mirror)
        return mirror

    def bind(self, bindings):
        """Returns ({name: device array}, {name: DeviceMirror}) for host arrays."""
        mirrors, arrays, bound = list(self.watched), {}, {}
        for name, array in bindings.items():
            mirror = next((m for m in mirrors if m.device_view(array) is not None), None)
            if mirror is None:
                mirror = DeviceMirror(self.device, base_memory(array), watched=False)
                mirrors.append(mirror)
            arrays[name], bound[name] = mirror.device_view(array), mirror
        return arrays, bound


def base_memory(array):
    """Returns the bytes of all memory that an array is part of, as others may be bound to it."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    low, high = np.lib.array_utils.byte_bounds(root)
    return np.asarray(Owner(low, high - low, root))
