"""Device arrays for the planner and the lowerings: shapes, strides and addresses, no values.

numpy computes shapes and addresses, on a numpy array at the device's address that is never read and
never leaves this module.
"""

import numpy as np

from sparkdl.errors import UnsupportedError

ALLOWED = {
    np.broadcast_to,
    np.expand_dims,
    np.may_share_memory,
    np.moveaxis,
    np.shares_memory,
    np.swapaxes,
    np.transpose,
}


class Owner:
    """The array interface of an address, for numpy; keeps the memory's owner alive."""

    def __init__(self, address, size, keep):
        data = (address, False)
        self.__array_interface__ = {"data": data, "shape": (size,), "typestr": "|u1", "version": 3}
        self.keep = keep


class DeviceArray:
    """Device memory with a shape, strides and a type; values must be fetched."""

    __slots__ = ("_shown",)
    __array_ufunc__ = None

    def __init__(self, shown):
        self._shown = shown

    @classmethod
    def at(cls, address, size, keep=None):
        """Returns `size` bytes at an address, valid as long as `keep` exists."""
        return cls(np.asarray(Owner(address, size, keep)))

    address = property(lambda self: self._shown.ctypes.data)
    ctypes = property(lambda self: self._shown.ctypes)
    dtype = property(lambda self: self._shown.dtype)
    flags = property(lambda self: self._shown.flags)
    itemsize = property(lambda self: self._shown.itemsize)
    nbytes = property(lambda self: self._shown.nbytes)
    ndim = property(lambda self: self._shown.ndim)
    shape = property(lambda self: self._shown.shape)
    size = property(lambda self: self._shown.size)
    strides = property(lambda self: self._shown.strides)

    def __len__(self):
        return len(self._shown)

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if not all(i is None or i is ... or isinstance(i, int | slice) for i in index):
            raise UnsupportedError("an array of the device is cut by numbers and slices only")
        whole = () if any(i is ... for i in index) else (...,)
        return DeviceArray(self._shown[(*index, *whole)])

    def reshape(self, *shape):
        """Returns the same memory in another shape; ValueError if that requires a copy."""
        shape = shape[0] if len(shape) == 1 else shape
        return DeviceArray(self._shown.reshape(shape, copy=False))

    def view(self, dtype):
        return DeviceArray(self._shown.view(dtype))

    def transpose(self, *axes):
        return DeviceArray(self._shown.transpose(*axes))

    def flat_bytes(self):
        """Returns all its memory as a flat byte array, in memory order."""
        order = sorted(range(self.ndim), key=lambda a: -self.strides[a])
        return DeviceArray(self._shown.transpose(order).reshape(-1, copy=False).view(np.uint8))

    def like(self, memory, dtype=None):
        """Returns flat host or device bytes with this shape and order, and this or another type."""
        order = sorted(range(self.ndim), key=lambda a: -self.strides[a])
        view = memory.view(dtype or self.dtype).reshape([self.shape[a] for a in order])
        return view.transpose(np.argsort(order)) if order else view.reshape(())

    def elsewhere(self, allocate):
        """Returns new memory with the same shape, type and strides."""
        low, high = np.lib.array_utils.byte_bounds(self._shown)
        memory = allocate(high - low)._shown
        return DeviceArray(np.ndarray(self.shape, self.dtype, memory, strides=self.strides))

    def __array_function__(self, function, types, args, kwargs):
        if function not in ALLOWED:
            raise refusal(function.__name__)
        result = function(*(a._shown if isinstance(a, DeviceArray) else a for a in args), **kwargs)
        return DeviceArray(result) if isinstance(result, np.ndarray) else result

    def __array__(self, *args, **kwargs):
        raise refusal("numpy")

    def __repr__(self):
        return f"DeviceArray({self.shape}, {self.dtype.name}, at {self.address:#x})"


def refusal(name):
    return UnsupportedError(f"{name} cannot read numbers of the device: fetch them to the host")
