"""Convolutions over any number of axes."""

from itertools import product
from math import prod

import numpy as np

from sparkdl.interop.onnx.forward.shapes import whole_numbers
from sparkdl.interop.onnx.forward.windows import PADDINGS, Windows


def conv(
    x,
    W,
    b=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    pads=None,
    strides=None,
):
    """Returns y (N, M, *out) of x (N, C, *in), W (M, C / group, *kernel), b (M,)."""
    check_filters(W, group, kernel_shape)
    windows = Windows.over(x.shape[2:], W.shape[2:], strides, dilations, pads, auto_pad)
    y = by_channels(windows, x, W) if 1 < len(W) == group else by_groups(windows, x, W, group)
    return y if b is None else y + by_channel(b, y.ndim)


def check_filters(W, group, kernel_shape):
    """Raises ValueError for groups, or a kernel_shape, that filters do not have."""
    if group < 1 or len(W) % group or tuple(kernel_shape or W.shape[2:]) != W.shape[2:]:
        raise ValueError(
            f"filters {W.shape} must have the kernel_shape {kernel_shape} and {group} equal groups"
        )


def by_channels(windows, x, W):
    """Returns the convolution of groups with one filter each, kernel position by position."""
    kind = x.dtype
    if kind.itemsize == 2 and kind.kind not in "iu":  # 16-bit sums would lose digits
        x, W = x.astype(np.float32), W.astype(np.float32)
    x = windows.padded(x, np.zeros((), x.dtype))
    x = x.reshape(len(x), len(W), -1, *x.shape[2:])
    y = np.zeros((len(x), len(W), *windows.counts), x.dtype)
    for channel, place in product(range(W.shape[1]), windows.places()):
        numbers = x[(slice(None), slice(None), channel, *windows.numbers_at(place))]
        y += numbers * by_channel(W[(slice(None), channel, *place)], y.ndim)
    return y.astype(kind)


def by_groups(windows, x, W, group):
    """Returns the convolution as one matrix product per group."""
    axes, n = x.ndim - 2, len(x)
    view = windows.cut(x)
    view = view.reshape(n, group, -1, *view.shape[2:])  # (N, G, C / G, *out, *kernel)
    order = (0, 1, 2, *range(3 + axes, 3 + 2 * axes), *range(3, 3 + axes))
    columns = view.transpose(order).reshape(n, group, W[0].size, prod(windows.counts))
    y = np.matmul(W.reshape(group, -1, W[0].size), columns).astype(x.dtype)
    return y.reshape(n, len(W), *windows.counts)


def by_channel(values, rank):
    """Returns values (C,) as (C, 1, ...), to broadcast over (N, C, ...)."""
    return values.reshape(-1, *[1] * (rank - 2))


def conv_transpose(
    x,
    W,
    b=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    output_padding=None,
    output_shape=None,
    pads=None,
    strides=None,
):
    """Returns y (N, M, *out) of x (N, C, *in), W (C, M / group, *kernel), b (M,)."""
    check_filters(W, group, kernel_shape)
    axes, sizes = x.ndim - 2, x.shape[2:]
    options = strides, dilations, output_padding, pads, auto_pad, output_shape
    windows = windows_of_result(sizes, W.shape[2:], *options)
    if min(before for before, _ in windows.pads) < 0:
        raise ValueError(f"padding must be >= 0, got {windows.pads}")
    parts = zip(np.split(x, group, 1), np.split(W, group), strict=True)
    products = [np.tensordot(w, part, ([0], [1])) for part, w in parts]  # (M, *kernel, N, *in)
    moved = [np.moveaxis(each, 0, axes + 1) for each in products]  # (*kernel, N, M, *in)
    y = windows.add_up(np.concatenate(moved, axes + 1)).astype(x.dtype)
    return y if b is None else y + by_channel(b, y.ndim)


def windows_of_result(
    sizes,
    kernel,
    strides=None,
    dilations=None,
    output_padding=None,
    pads=None,
    auto_pad="NOTSET",
    output_shape=None,
):
    """Returns the Windows over the result of a transposed convolution with input of `sizes`."""
    axes = len(sizes)
    strides, dilations = strides or [1] * axes, dilations or [1] * axes
    more = output_padding or [0] * axes
    rows = zip(sizes, strides, kernel, dilations, more, strict=True)
    whole = [(n - 1) * stride + (k - 1) * d + 1 + extra for n, stride, k, d, extra in rows]
    pairs = cuts(whole, sizes, strides, pads, auto_pad, output_shape)
    left = tuple(n - sum(pair) for n, pair in zip(whole, pairs, strict=True))
    if min(left, default=0) < 0:
        raise ValueError(f"padding must be at most {whole} along the axes, got {pairs}")
    return Windows(kernel, tuple(strides), tuple(dilations), pairs, left, sizes)


def cuts(whole, sizes, strides, pads, auto_pad, output_shape):
    """Returns ((before, after), ...) to crop from the full transposed convolution."""
    axes = len(sizes)
    if auto_pad not in PADDINGS:
        raise ValueError(f"auto_pad must be one of {PADDINGS}, got {auto_pad!r}")
    if output_shape is None and not auto_pad.startswith("SAME"):
        pads = pads or [0] * 2 * axes
        return tuple(zip(pads[:axes], pads[axes:], strict=True))
    to = output_shape or [n * stride for n, stride in zip(sizes, strides, strict=True)]
    totals = [n - wanted for n, wanted in zip(whole, to[-axes:], strict=True)]
    if output_shape is None and min(totals) < 0:  # onnxruntime has a shorter result than onnx
        raise ValueError(f"auto_pad={auto_pad} of kernels that are smaller than their strides")
    upper = auto_pad == "SAME_UPPER"
    return tuple((n // 2, n - n // 2) if upper else (n - n // 2, n // 2) for n in totals)


def col2im(x, image_shape, block_shape, *, dilations=None, pads=None, strides=None):
    """Returns images (N, C, *image), the sums of overlapping blocks (N, C * block, positions)."""
    block = whole_numbers(block_shape)
    windows = Windows.over(whole_numbers(image_shape), block, strides, dilations, pads)
    parts = x.reshape(len(x), -1, *block, *windows.counts)
    return windows.add_up(np.moveaxis(parts, range(2, 2 + len(block)), range(len(block))))


def deform_conv(
    x,
    W,
    offset,
    b=None,
    mask=None,
    *,
    dilations=None,
    group=1,
    kernel_shape=None,
    offset_group=1,
    pads=None,
    strides=None,
):
    """Returns the convolution of x (N, C, H, W), sampled at positions shifted by `offset`.

    offset is (N, offset_group * kernel * 2, *out); mask is the same without the 2.

    References
    ----------
    Zhu et al., Deformable ConvNets v2 (2018).
    """
    windows = Windows.over(x.shape[2:], W.shape[2:], strides, dilations, pads)
    n, out, size = len(x), windows.counts, int(np.prod(windows.kernel))
    moves = offset.reshape(n, offset_group, size, 2, *out)
    grid = [
        (np.arange(o) * s - p[0])[:, None] + np.arange(k) * d
        for o, s, p, k, d in zip(
            out, windows.strides, windows.pads, windows.kernel, windows.dilations, strict=True
        )
    ]
    rows = np.repeat(grid[0].T, windows.kernel[1], 0)[:, :, None] + moves[:, :, :, 0]
    columns = np.tile(grid[1].T, (windows.kernel[0], 1))[:, None, :] + moves[:, :, :, 1]
    found = bilinear(x.reshape(n, offset_group, -1, *x.shape[2:]), rows, columns)
    if mask is not None:
        found = found * mask.reshape(n, offset_group, 1, size, *out)
    taken = found.reshape(n, group, -1, size, *out)
    weights = W.reshape(group, -1, W.shape[1], size)
    y = np.einsum("ngckhw,gmck->ngmhw", taken, weights).reshape(n, len(W), *out).astype(x.dtype)
    return y if b is None else y + by_channel(b, 4)


def bilinear(x, rows, columns):
    """Returns x (N, G, C, H, W) interpolated at places (N, G, *any); pixels outside are 0."""
    y, front = 0, np.indices(rows.shape, sparse=True)[:2]
    for down in (0, 1):
        for right in (0, 1):
            r, c = np.floor(rows).astype(int) + down, np.floor(columns).astype(int) + right
            weight = (1 - np.abs(rows - r)) * (1 - np.abs(columns - c))
            inside = (r >= 0) & (r < x.shape[-2]) & (c >= 0) & (c < x.shape[-1])
            r, c = r.clip(0, x.shape[-2] - 1), c.clip(0, x.shape[-1] - 1)
            pixels = np.moveaxis(x, 2, -1)[(*front, r, c)]  # (N, G, *any, C)
            y = y + np.moveaxis(pixels * (weight * inside)[..., None], -1, 2)
    return y


CONVOLUTIONS = {
    "Col2Im": col2im,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
}
