"""Convolutions, pooling, and other operations on channels."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.graph import Tensor
from sparkdl.engine.ops.shape import ReshapeOp
from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.compiled.arithmetic import floats
from sparkdl.interop.onnx.compiled.arrangements import is_image_of, is_made_by, reshape
from sparkdl.interop.onnx.forward.convolutions import check_filters, windows_of_result
from sparkdl.interop.onnx.forward.pooling import windows_of
from sparkdl.interop.onnx.forward.windows import Windows


def without_cuts(windows):
    """Returns the windows; raises UnsupportedError for negative padding."""
    if min(amount for pair in windows.pads for amount in pair) < 0:
        raise UnsupportedError("negative padding")
    return windows


def conv(x, W, b=None, *, group=1, kernel_shape=None, **options):
    x, W = floats(x, W)
    check_filters(W, group, kernel_shape)
    at = without_cuts(Windows.over(x.shape[2:], W.shape[2:], **options))
    y = ops.conv(x, W, at.strides, at.pads, at.dilations, group)
    return y if b is None else ops.add_bias(y, *floats(b), 1)


def conv_transpose(x, W, b=None, *, group=1, kernel_shape=None, **options):
    x, W = floats(x, W)
    check_filters(W, group, kernel_shape)
    at = without_cuts(windows_of_result(x.shape[2:], W.shape[2:], **options))
    y = ops.conv_transpose(x, W, at.sizes, at.strides, at.pads, at.dilations, group)
    return y if b is None else ops.add_bias(y, *floats(b), 1)


def average_pool(x, *, count_include_pad=0, **options):
    at = whole_windows(x, **options)
    return ops.avg_pool(x, at.kernel, at.strides, at.pads, bool(count_include_pad), at.dilations)


def max_pool(x, *, storage_order=0, **options):
    at = whole_windows(x, **options)
    return ops.max_pool(x, at.kernel, at.strides, at.pads, at.dilations)


def whole_windows(x, *, ceil_mode=0, **options):
    """Returns the Windows of a pooling over x; UnsupportedError if they may reach over the end."""
    if ceil_mode:
        raise UnsupportedError("windows that reach over the end")
    return without_cuts(windows_of(x, **options))


def over_all(pool):
    """Returns the rule for pooling over all places of each channel."""
    return lambda x: pool(x, x.shape[2:])


def global_max_pool(x):
    if x.ndim == 3 and is_made_by(x, ReshapeOp) and is_image_of(x.shape, x.node.inputs[0].shape):
        return reshape(over_all(ops.max_pool)(x.node.inputs[0]), (*x.shape[:2], 1))
    return ops.max(x, [2], True) if x.ndim == 3 else over_all(ops.max_pool)(x)


def batch_normalization(
    x, scale, b, mean, variance, *, epsilon=1e-5, momentum=0.9, training_mode=0
):
    moments = floats(scale, b, mean, variance)
    if training_mode or any(isinstance(each, Tensor) for each in moments):
        raise UnsupportedError("statistics of this batch")
    return ops.normalize(x, *moments, epsilon)


def resize(x, roi=None, scales=None, sizes=None, **options):
    """Repeats pixels of images by integer factors."""
    mode, at = options.get("mode", "nearest"), options.get("coordinate_transformation_mode", "")
    rounding = options.get("nearest_mode", "round_prefer_floor")
    if any(isinstance(each, Tensor) for each in (roi, scales, sizes)):
        raise UnsupportedError("sizes that depend on values")
    given = scales if scales is not None and scales.size else sizes
    if mode != "nearest" or given is None or len(given) != x.ndim:
        raise UnsupportedError("pixels between others")
    if options.keys() - {"mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a"}:
        raise UnsupportedError("some axes")
    factors = given if given is scales else np.divide(given, x.shape)
    whole = all(factor == int(factor) for factor in factors) and all(factors[:2] == 1)
    plain = (at, rounding) == ("asymmetric", "floor") or (
        at in ("", "half_pixel") and rounding == "round_prefer_floor"
    )
    if not whole or not plain:
        raise UnsupportedError("pixels other than repeated ones")
    return ops.resize(x, [int(n * f) for n, f in zip(x.shape[2:], factors[2:], strict=True)])


WINDOWS = {
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "GlobalAveragePool": over_all(ops.avg_pool),
    "GlobalMaxPool": global_max_pool,
    "MaxPool": max_pool,
    "Resize": resize,
}
