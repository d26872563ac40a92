"""The C functions of cuBLASLt that products need, by ctypes, with constants and structures.

References
----------
cublasLt.h and library_types.h of cuBLAS 13.
"""

import ctypes
import weakref
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from enum import IntFlag

from sparkdl.engine.backends.cuda.device.memory_errors import error_of
from sparkdl.engine.backends.cuda.device.shared_libraries import declare_signatures, load_library

NAMES = ("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so")
CURE = "pip install nvidia-cublas, or a CUDA toolkit"
TYPES = {"float32": 0, "float16": 2, "bfloat16": 14}  # cudaDataType_t
COMPUTE_32F, COMPUTE_32F_FAST_TF32 = 68, 77  # cublasComputeType_t

DESCRIPTOR = {  # CUBLASLT_MATMUL_DESC_...: (number, type)
    "TRANSA": (3, c_int32),
    "TRANSB": (4, c_int32),
    "EPILOGUE": (7, c_uint32),
    "BIAS_POINTER": (8, c_void_p),
    "EPILOGUE_AUX_POINTER": (11, c_void_p),
    "EPILOGUE_AUX_LD": (12, c_int64),
    "BIAS_DATA_TYPE": (26, c_int32),
}
LAYOUT = {"BATCH_COUNT": (5, c_int32), "STRIDED_BATCH_OFFSET": (6, c_int64)}
PREFERENCE = {
    "MAX_WORKSPACE_BYTES": (1, c_uint64),
    "MIN_ALIGNMENT_A_BYTES": (5, c_uint32),
    "MIN_ALIGNMENT_B_BYTES": (6, c_uint32),
    "MIN_ALIGNMENT_C_BYTES": (7, c_uint32),
    "MIN_ALIGNMENT_D_BYTES": (8, c_uint32),
}


class Epilogue(IntFlag):
    """cublasLtEpilogue_t: what follows the sum; AUX stores or reads the activation's input."""

    DEFAULT = 1
    RELU = 2
    BIAS = 4
    BIAS_GRADIENT = 16
    GELU = 32
    GELU_GRADIENT = 64
    AUX = 128
    SUM_OF_A = 256


class Algorithm(ctypes.Structure):
    """cublasLtMatmulAlgo_t"""

    _fields_ = (("data", c_uint64 * 8),)


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""

    _fields_ = (
        ("algorithm", Algorithm),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


SET = [c_void_p, c_int, c_void_p, c_size_t]
PAIR = [c_void_p] * 2  # handle and descriptor, or matrix and layout
SCALE = POINTER(c_float)
SIGNATURES = {
    "cublasLtGetVersion": (c_size_t, []),
    "cublasLtGetStatusName": (c_char_p, [c_int]),
    "cublasLtCreate": (c_int, [POINTER(c_void_p)]),
    "cublasLtMatmulDescCreate": (c_int, [POINTER(c_void_p), c_int, c_int]),
    "cublasLtMatmulDescSetAttribute": (c_int, SET),
    "cublasLtMatmulDescDestroy": (c_int, [c_void_p]),
    "cublasLtMatrixLayoutCreate": (c_int, [POINTER(c_void_p), c_int, c_uint64, c_uint64, c_int64]),
    "cublasLtMatrixLayoutSetAttribute": (c_int, SET),
    "cublasLtMatrixLayoutDestroy": (c_int, [c_void_p]),
    "cublasLtMatmulPreferenceCreate": (c_int, [POINTER(c_void_p)]),
    "cublasLtMatmulPreferenceSetAttribute": (c_int, SET),
    "cublasLtMatmulPreferenceDestroy": (c_int, [c_void_p]),
    "cublasLtMatmulAlgoGetHeuristic": (
        c_int,
        [*PAIR, *PAIR, *PAIR, c_void_p, c_int, POINTER(Heuristic), POINTER(c_int)],
    ),
    "cublasLtMatmulAlgoCheck": (
        c_int,
        [*PAIR, *PAIR, *PAIR, POINTER(Algorithm), POINTER(Heuristic)],
    ),
    "cublasLtMatmul": (
        c_int,
        [
            *PAIR,
            SCALE,
            *PAIR,
            *PAIR,
            SCALE,
            *PAIR,
            *PAIR,
            POINTER(Algorithm),
            c_void_p,
            c_size_t,
            c_void_p,
        ],
    ),
}


def library():
    """Returns the loaded cuBLASLt, with all signatures."""
    return declare_signatures(load_library("cuBLASLt", NAMES, CURE), SIGNATURES)


class MatrixDescriptor:
    """An object of cuBLASLt's, destroyed when it is dropped.

    Parameters
    ----------
    kind : the name's part in cublasLt...Create
    attributes : {name: (number, type)} of the attributes it has
    """

    def __init__(self, library, kind, attributes, *values):
        self.library, self.kind, self.attributes = library, kind, attributes
        self.pointer = c_void_p()
        check(library, getattr(library, f"cublasLt{kind}Create")(byref(self.pointer), *values))
        destroy = getattr(library, f"cublasLt{kind}Destroy")
        weakref.finalize(self, destroy, c_void_p(self.pointer.value)).atexit = False

    def set(self, **values):
        write = getattr(self.library, f"cublasLt{self.kind}SetAttribute")
        for name, value in values.items():
            number, kind = self.attributes[name]
            cell = kind(value)
            check(self.library, write(self.pointer, number, byref(cell), ctypes.sizeof(cell)))
        return self


def check(library, status):
    """Raises MemoryError if cuBLASLt had no memory, DeviceError if it failed otherwise."""
    if status:
        raise error_of("cuBLASLt", library.cublasLtGetStatusName(status).decode())
