"""Kernel arguments as CUDA takes them: the addresses of the values, made once."""

import ctypes

import numpy as np

from sparkdl.engine.backends.cuda.device.device_array import DeviceArray


class Arguments:
    """Values in the order of the kernel's parameters.

    An array becomes a pointer, None a null pointer, an int a long long (also for an int parameter),
    a float a float, and a tuple of arrays a structure of pointers; a numpy scalar or structure is
    passed unchanged.
    """

    def __init__(self, values):
        self.values = tuple(values)
        self.cells = [cell(value) for value in self.values]
        addresses = [ctypes.addressof(c) for c in self.cells]
        self.pointers = (ctypes.c_void_p * len(addresses))(*addresses)

    @property
    def arrays(self):
        values = (v if isinstance(v, tuple) else (v,) for v in self.values)
        return [v for several in values for v in several if isinstance(v, DeviceArray)]


def cell(value):
    if value is None or hasattr(value, "memory"):  # a Scratch gets its address later
        return ctypes.c_void_p()
    if isinstance(value, DeviceArray):
        return ctypes.c_void_p(value.address)
    if isinstance(value, tuple):
        return (ctypes.c_void_p * len(value))(*(cell(array).value for array in value))
    if isinstance(value, np.generic | np.ndarray):
        return ctypes.create_string_buffer(value.tobytes(), value.nbytes)
    return ctypes.c_float(value) if isinstance(value, float) else ctypes.c_longlong(value)
