"""Pooling over any number of axes."""

from dataclasses import replace

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward.reductions import lowest
from sparkdl.interop.onnx.forward.windows import Windows


def windows_of(
    x, kernel_shape, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil_mode=0
):
    """Returns the Windows of a pooling over x (N, C, *in).

    Raises
    ------
    UnsupportedError
        For "same" padding of dilated windows: onnxruntime takes it as if they were not dilated.
    """
    dilated = any(k > 1 and d > 1 for k, d in zip(kernel_shape, dilations or (), strict=False))
    if dilated and auto_pad.startswith("SAME"):
        raise UnsupportedError(f"auto_pad={auto_pad} with dilations={dilations} is not supported")
    return Windows.over(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)


def average_pool(
    x,
    *,
    auto_pad="NOTSET",
    ceil_mode=0,
    count_include_pad=0,
    dilations=None,
    kernel_shape,
    pads=None,
    strides=None,
):
    """Returns the means of windows; positions past the padding are never counted."""
    windows = windows_of(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    ones, counted = np.ones(x.shape[2:], x.dtype), windows
    if count_include_pad:
        ones = np.pad(ones, windows.pads, constant_values=1)
        counted = replace(windows, pads=((0, 0),) * ones.ndim, sizes=ones.shape)
    return (total(windows, x) / total(counted, ones)).astype(x.dtype)


def total(windows, x):
    return windows.cut(x).sum(axis=kernel_axes(windows))


def kernel_axes(windows):
    return tuple(range(-len(windows.kernel), 0))


def lp_pool(
    x,
    *,
    auto_pad="NOTSET",
    ceil_mode=0,
    dilations=None,
    kernel_shape,
    p=2,
    pads=None,
    strides=None,
):
    windows = windows_of(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return (total(windows, np.abs(x) ** p) ** (1 / p)).astype(x.dtype)


def max_pool(
    x,
    *,
    auto_pad="NOTSET",
    ceil_mode=0,
    dilations=None,
    kernel_shape,
    pads=None,
    storage_order=0,
    strides=None,
):
    """Returns (maxima, their indices in the flat x)."""
    windows = windows_of(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    view = windows.cut(x, lowest(x.dtype))
    view = view.reshape(*view.shape[: x.ndim], -1)
    best = view.argmax(-1)[..., None]
    order = "F" if storage_order else "C"
    inside = np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:], order=order)
    places = windows.cut(inside)
    places = np.broadcast_to(places.reshape(*places.shape[: x.ndim - 2], -1), view.shape)
    first = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
    found = np.take_along_axis(places, best, -1)[..., 0] + first * inside.size
    return np.take_along_axis(view, best, -1)[..., 0], found.astype(np.int64)


def max_unpool(x, places, output_shape=None, *, kernel_shape, pads=None, strides=None):
    """Returns zeros with x at `places`, indices in the flat unpooled array."""
    axes = len(kernel_shape)
    pads, strides = pads or [0] * 2 * axes, strides or [1] * axes
    sizes = [
        (n - 1) * stride + k - before - after
        for n, stride, k, before, after in zip(
            x.shape[2:], strides, kernel_shape, pads[:axes], pads[axes:], strict=True
        )
    ]
    y = np.zeros((*x.shape[:2], *sizes), x.dtype)
    y.reshape(-1)[places.reshape(-1)] = x.reshape(-1)
    if output_shape is None:
        return y
    return np.pad(y, [(0, int(n) - have) for n, have in zip(output_shape, y.shape, strict=True)])


def over_all(compute):
    """Returns the rule of a mean, norm or maximum over all positions of each channel."""

    def pool(x, **options):
        return compute(x, tuple(range(2, x.ndim)), **options).astype(x.dtype)

    return pool


def norm(x, axes, p=2):
    return (np.abs(x) ** p).sum(axis=axes, keepdims=True) ** (1 / p)


POOLING = {
    "AveragePool": average_pool,
    "GlobalAveragePool": over_all(lambda x, axes: x.mean(axis=axes, keepdims=True)),
    "GlobalLpPool": lambda x, *, p=2: norm(x, tuple(range(2, x.ndim)), p).astype(x.dtype),
    "GlobalMaxPool": over_all(lambda x, axes: x.max(axis=axes, keepdims=True)),
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
