"""Quantization: integers that represent floats by a scale and a zero point."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from onnx import TensorProto, helper

from sparkdl.interop.onnx.forward.casts import FEW_BITS, convert
from sparkdl.interop.onnx.forward.convolutions import by_channel, conv
from sparkdl.interop.onnx.forward.products import of_rows, shifted


def quantize(
    x,
    scale,
    zero=None,
    *,
    axis=1,
    block_size=0,
    output_dtype=0,
    precision=0,
    saturate=1,
):
    kind = np.dtype(helper.tensor_dtype_to_np_dtype(output_dtype or TensorProto.UINT8))
    kind = kind if zero is None else zero.dtype
    wide = helper.tensor_dtype_to_np_dtype(precision) if precision else scale.dtype
    scaled = x.astype(wide) / along(scale, x, axis, block_size).astype(wide)
    if not is_whole(kind):
        return convert(scaled, kind, saturate)
    found = np.rint(scaled.astype(np.float64))
    if zero is not None:
        found = found + along(zero, x, axis, block_size).astype(np.float64)
    return limited(found, kind)


def is_whole(kind):
    return kind.name in FEW_BITS or kind.kind in "iu"


def limited(x, kind):
    """Returns numbers clipped to the range of an integer type, as that type."""
    low, high = FEW_BITS.get(kind.name) or (np.iinfo(kind).min, np.iinfo(kind).max)
    return np.clip(x, low, high).astype(np.int64).astype(kind)


def dequantize(x, scale, zero=None, *, axis=1, block_size=0, output_dtype=0):
    kind = helper.tensor_dtype_to_np_dtype(output_dtype) if output_dtype else scale.dtype
    wide = x.astype(np.float32)
    if zero is not None:
        wide = wide - along(zero, x, axis, block_size).astype(np.float32)
    return (wide * along(scale, x, axis, block_size).astype(np.float32)).astype(kind)


def along(values, x, axis, block_size):
    """Returns values per tensor, per axis or per block, shaped to broadcast over x."""
    if values.size == 1 and values.ndim <= 1:
        return values.reshape(())
    if block_size:
        wide = np.repeat(values, block_size, axis)
        return np.take(wide, np.arange(x.shape[axis]), axis)
    return values.reshape(-1, *[1] * (x.ndim - 1 - normalize_axis_index(axis, x.ndim)))


def dynamic_quantize(x):
    """Returns (y, scale, zero point) in 8 bits; the scale covers the range of x and zero.

    The scale of zeros is 1, as in onnxruntime; the standard would divide by 0.
    """
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = np.float32((high - low) / np.float32(255)) or np.float32(1)
    zero = limited(np.rint(-low / scale), np.dtype(np.uint8))
    return limited(np.rint(x / scale) + zero, np.dtype(np.uint8)), scale, zero


def quantized_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    sums = shifted(a, of_rows(a_zero)) @ shifted(b, b_zero)
    return requantized(sums, of_rows(a_scale) * b_scale, of_rows(y_scale), of_rows(y_zero))


def requantized(sums, scale, y_scale, y_zero):
    found = np.rint(sums * (scale / y_scale).astype(np.float64)) + y_zero.astype(np.float64)
    return limited(found, y_zero.dtype)


def conv_integers(x, W, zero_x=None, zero_w=None, **options):
    """Returns the int32 convolution of integers less their zero points."""
    zero_w = zero_w if zero_w is None else of_filters(zero_w, W.ndim)
    return conv(shifted(x, zero_x), shifted(W, zero_w), **options)


def of_filters(values, rank):
    """Returns one value, or one per filter, shaped to broadcast over the filters."""
    return values if values.size == 1 else values.reshape(-1, *[1] * (rank - 1))


def quantized_conv(x, x_scale, x_zero, W, W_scale, W_zero, y_scale, y_zero, b=None, **options):
    sums = conv(shifted(x, x_zero), shifted(W, of_filters(W_zero, W.ndim)), b, **options)
    scale = W_scale if W_scale.size == 1 else by_channel(W_scale, W.ndim)
    return requantized(sums, x_scale * scale, y_scale, y_zero)


QUANTIZATION = {
    "ConvInteger": conv_integers,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "QLinearConv": quantized_conv,
    "QLinearMatMul": quantized_matmul,
    "QuantizeLinear": quantize,
}
