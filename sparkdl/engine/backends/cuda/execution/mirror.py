"""Memory of the host and its original on the device, each brought up to date when asked for."""

from weakref import WeakSet

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import DeviceArray, Owner


class DeviceMirror:
    """A span of the host's memory that programs read and write on the device.

    Parameters
    ----------
    device : Device
    host : ndarray of uint8
    watched : whether whoever touches the host's memory says so by `open`; else it goes up before
        each run and comes down after it
    array : that memory as `open` gives it
    """

    def __init__(self, device, host, watched, array=None):
        self.device, self.host, self.watched, self.array = device, host, watched, array
        self.memory = device.driver.allocate(max(host.nbytes, 1))[: host.nbytes]
        self.transfer_event = device.driver.event()
        self.host_newer, self.device_newer, self.arriving = True, False, False

    @property
    def original(self):
        """The vector where it lies on the device."""
        return self.memory.view(self.array.dtype)

    def upload(self):
        """Brings the device up to date, if the host may have been written."""
        if self.host_newer or not self.watched:
            self.device.driver.upload(self.memory, self.host, self.device.stream)
            self.device.driver.record(self.transfer_event, self.device.stream)
        self.host_newer = False

    def mark_written(self):
        """Notes that programs that write here have been put on the stream."""
        self.device_newer = True

    def download(self):
        """Brings the host up to date; when this comes back it may be read and written."""
        if self.arriving:  # a program brings it in parts, and tells of each
            return
        if self.device_newer:
            with self.device.lock:
                self.device.driver.use()
                self.device.driver.download(self.host, self.memory, self.device.stream)
                self.device.driver.record(self.transfer_event, self.device.stream)
        self.device.driver.synchronize(self.transfer_event)
        self.device_newer = False

    def open(self):
        """Returns the host's memory, about to be read and perhaps written."""
        self.download()
        self.host_newer = True
        return self.array

    def part(self, array):
        """Returns (bytes of the host, bytes of the device) of a contiguous device array in here."""
        part = array.flat_bytes()
        start = part.address - self.memory.address
        return self.host[start : start + part.nbytes], part

    def device_view(self, array):
        """Returns the device's array for one of the host within this memory, or None."""
        low, high = np.lib.array_utils.byte_bounds(array)
        start = self.host.ctypes.data
        if not start <= low <= high <= start + self.host.nbytes:
            return None
        memory = np.asarray(Owner(self.memory.address + low - start, high - low, self.memory))
        view = np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
        return DeviceArray(view)


class Mirrors:
    """Those of one device: vectors that replicas watch, and what a program is bound to."""

    def __init__(self, device):
        self.device, self.watched = device, WeakSet()

    def vector(self, values):
        """Returns the Mirror of a new array with these values."""
        host = self.device.driver.allocate_pinned(max(values.nbytes, 1))[: values.nbytes]
        array = host.view(values.dtype).reshape(values.shape)
        np.copyto(array, values)
        mirror = DeviceMirror(self.device, host, watched=True, array=array)
        self.watched.add(mirror)
        return mirror

    def bind(self, bindings):
        """Returns ({name: array of the device}, {name: Mirror}) for arrays of the host."""
        mirrors, arrays, bound = list(self.watched), {}, {}
        for name, array in bindings.items():
            mirror = next((m for m in mirrors if m.device_view(array) is not None), None)
            if mirror is None:
                mirror = DeviceMirror(self.device, base_memory(array), watched=False)
                mirrors.append(mirror)
            arrays[name], bound[name] = mirror.device_view(array), mirror
        return arrays, bound


def base_memory(array):
    """Returns all the memory that an array is part of, as bytes: others may be bound to it."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    low, high = np.lib.array_utils.byte_bounds(root)
    return np.asarray(Owner(low, high - low, root))
