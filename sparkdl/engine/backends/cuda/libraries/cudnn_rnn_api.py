"""cuDNN's C functions for recurrent layers by ctypes: the RNN API of version 8, as in 9.

References
----------
cudnn_adv_v9.h, cudnn_ops_v9.h and cudnn_graph_v9.h of cuDNN 9.
"""

import ctypes
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_void_p

from sparkdl.engine.backends.cuda.device.memory_errors import error_of
from sparkdl.engine.backends.cuda.device.shared_libraries import declare_signatures, load_library

NAMES = ("libcudnn.so.9", "libcudnn.so")
CURE = "pip install nvidia-cudnn-cu13"
TYPES = {"float32": 0, "float16": 2, "bfloat16": 9}  # cudnnDataType_t
MODES = {"LSTM": 2, "GRU": 3}  # cudnnRNNMode_t
SINGLE_INP_BIAS, DOUBLE_BIAS = 1, 2  # cudnnRNNBiasMode_t
TENSOR_OP_MATH, DEFAULT_MATH, FMA_MATH = 1, 0, 3  # cudnnMathType_t
ALGO_STANDARD = UNIDIRECTIONAL = LINEAR_INPUT = WGRAD_MODE_ADD = 0
BATCH_MAJOR_UNPACKED, PADDED_IO_ENABLED = 2, 1
INFERENCE, TRAINING = 0, 1  # cudnnForwardMode_t

MADE = [POINTER(c_void_p)]
SIZE = POINTER(c_size_t)
INTS = POINTER(c_int)
PAIR = [c_void_p] * 2
MEMORY = [c_size_t, c_void_p]
SIGNATURES = {
    "cudnnGetVersion": (c_size_t, []),
    "cudnnGetErrorString": (c_char_p, [c_int]),
    "cudnnCreate": (c_int, MADE),
    "cudnnSetStream": (c_int, PAIR),
    "cudnnCreateTensorDescriptor": (c_int, MADE),
    "cudnnSetTensorNdDescriptor": (c_int, [c_void_p, c_int, c_int, INTS, INTS]),
    "cudnnDestroyTensorDescriptor": (c_int, [c_void_p]),
    "cudnnCreateRNNDataDescriptor": (c_int, MADE),
    "cudnnSetRNNDataDescriptor": (c_int, [c_void_p, *[c_int] * 5, INTS, c_void_p]),
    "cudnnDestroyRNNDataDescriptor": (c_int, [c_void_p]),
    "cudnnCreateRNNDescriptor": (c_int, MADE),
    "cudnnSetRNNDescriptor_v8": (
        c_int,
        [c_void_p, *[c_int] * 8, *[c_int32] * 4, c_void_p, c_uint32],
    ),
    "cudnnDestroyRNNDescriptor": (c_int, [c_void_p]),
    "cudnnGetRNNWeightSpaceSize": (c_int, [*PAIR, SIZE]),
    "cudnnGetRNNTempSpaceSizes": (c_int, [*PAIR, c_int, c_void_p, SIZE, SIZE]),
    "cudnnGetRNNWeightParams": (
        c_int,
        [*PAIR, c_int32, *MEMORY, c_int32, c_void_p, *MADE, c_void_p, *MADE],
    ),
    "cudnnRNNForward": (
        c_int,
        [*PAIR, c_int, c_void_p, *PAIR, *PAIR, *([c_void_p] * 6), *MEMORY, *MEMORY, *MEMORY],
    ),
    "cudnnRNNBackwardData_v8": (
        c_int,
        [*PAIR, c_void_p, *([c_void_p] * 13), *MEMORY, *MEMORY, *MEMORY],
    ),
    "cudnnRNNBackwardWeights_v8": (
        c_int,
        [*PAIR, c_int, c_void_p, *PAIR, *PAIR, *PAIR, *MEMORY, *MEMORY, *MEMORY],
    ),
}


def library():
    """Returns the loaded cuDNN, with all signatures."""
    return declare_signatures(load_library("cuDNN", NAMES, CURE), SIGNATURES)


class RnnDescriptor:
    """An object of cuDNN's, destroyed when it is dropped.

    Parameters
    ----------
    kind : the name's part after cudnnCreate
    set : the name of the function that sets it
    words : arguments of that function
    """

    def __init__(self, library, kind, set, *words):
        self.pointer = c_void_p()
        check(library, getattr(library, f"cudnnCreate{kind}")(byref(self.pointer)))
        destroy = getattr(library, f"cudnnDestroy{kind}")
        weakref.finalize(self, destroy, c_void_p(self.pointer.value)).atexit = False
        check(library, getattr(library, set)(self.pointer, *words))


def ints(values):
    return (ctypes.c_int * len(values))(*values)


def check(library, status):
    """Raises MemoryError if cuDNN had no memory, DeviceError if it failed otherwise."""
    if status:
        raise error_of("cuDNN", library.cudnnGetErrorString(status).decode())
