"""Conversion between number types, including those of 8, 4 and 2 bits."""

import numpy as np
from onnx import TensorProto, helper

from sparkdl.errors import UnsupportedError

LARGEST = {  # of the low-precision float types
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float4_e2m1fn": 6.0,
}
FEW_BITS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


def cast(x, *, to, saturate=1, round_mode="up"):
    if to == TensorProto.STRING or x.dtype.kind in "OSU":
        raise UnsupportedError("a Cast of strings is not supported")
    return convert(x, np.dtype(helper.tensor_dtype_to_np_dtype(to)), saturate, round_mode)


def cast_like(x, other, *, saturate=1, round_mode="up"):
    return convert(x, other.dtype, saturate, round_mode)


def convert(x, kind, saturate=1, round_mode="up"):
    """Converts x to a type; 8-bit floats saturate on request."""
    if kind.name in LARGEST and saturate:
        return saturated(x, kind)
    if kind.name == "float8_e8m0fnu":
        return powers_of_two(x, kind, round_mode)
    if kind.name in FEW_BITS and x.dtype.kind not in "iu":
        return np.trunc(x.astype(np.float32)).astype(np.int32).astype(kind)
    return x.astype(kind)


def saturated(x, kind):
    largest = LARGEST[kind.name]
    return np.clip(x.astype(np.float32), -largest, largest).astype(kind)


def powers_of_two(x, kind, round_mode):
    """Returns powers of two at or above x, at or below it, or nearest to it."""
    wide = x.astype(np.float32)
    mantissa, exponent = np.frexp(np.abs(wide))  # mantissa in [1/2, 1)
    up = {"up": mantissa > 0.5, "down": mantissa > 1, "nearest": mantissa >= 0.75}[round_mode]
    power = np.clip(exponent - 1 + up, -127, 127)
    bits = np.where(wide == 0, 0, np.where(np.isfinite(wide), power + 127, 255))
    return bits.astype(np.uint8).view(kind)


def bit_cast(x, *, to):
    return x.view(helper.tensor_dtype_to_np_dtype(to))


CASTS = {"BitCast": bit_cast, "Cast": cast, "CastLike": cast_like}
