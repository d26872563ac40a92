"""Sliding-window layers over sequences, images and volumes, and their jax equivalents."""

import jax
import jax.numpy as jnp
from jax import lax

from sparkdl.nn import layers

SEQUENCE, VOLUME = (9, 4), (2, 4, 5, 3)
LAYERS = [
    (layers.Conv2D(filters=3, kernel_size=2), (2, 5, 4)),
    (
        layers.Conv2D(filters=4, kernel_size=(3, 2), stride=(2, 1), padding=(1, 0), groups=2),
        (2, 6, 5),
    ),
    (layers.Conv2D(filters=2, kernel_size=3, dilation=2, bias=False, activation="relu"), (1, 7, 6)),
    (layers.Conv2D(filters=2, kernel_size=(2, 3), stride=2, padding="same"), (3, 5, 6)),
    (layers.Conv2D(filters=2, kernel_size=3, padding=((1, 0), (2, 1))), (1, 4, 4)),
    (layers.Conv1D(filters=3, kernel_size=2), SEQUENCE),
    (layers.Conv1D(filters=4, kernel_size=3, stride=2, padding=(2, 1), groups=2), SEQUENCE),
    (
        layers.Conv1D(filters=2, kernel_size=4, stride=3, padding="same", activation="relu"),
        SEQUENCE,
    ),
    (layers.Conv1D(filters=2, kernel_size=3, dilation=2, padding="causal", bias=False), SEQUENCE),
    (layers.Conv3D(filters=3, kernel_size=2), VOLUME),
    (layers.Conv3D(filters=2, kernel_size=(1, 3, 2), stride=(2, 1, 1), padding=(0, 1, 1)), VOLUME),
    (layers.Conv3D(filters=2, kernel_size=2, padding="same", dilation=(2, 1, 1), groups=2), VOLUME),
    (layers.Conv2DTranspose(filters=3, kernel_size=2), (2, 3, 4)),
    (
        layers.Conv2DTranspose(filters=3, kernel_size=3, stride=2, padding=1, output_padding=1),
        (2, 3, 4),
    ),
    (layers.Conv2DTranspose(filters=4, kernel_size=(3, 2), stride=(2, 3), groups=2), (4, 3, 2)),
    (layers.Conv2DTranspose(filters=2, kernel_size=3, stride=2, padding="same"), (2, 3, 4)),
    (layers.Conv2DTranspose(filters=2, kernel_size=(1, 4), stride=3, padding="same"), (2, 3, 4)),
    (
        layers.Conv2DTranspose(filters=2, kernel_size=3, padding=((1, 0), (0, 2)), dilation=2),
        (2, 3, 4),
    ),
    (layers.Conv1DTranspose(filters=3, kernel_size=3, stride=2, padding=(1, 0)), (5, 4)),
    (
        layers.Conv1DTranspose(filters=2, kernel_size=3, stride=2, padding="same", bias=False),
        (5, 4),
    ),
    (
        layers.Conv3DTranspose(filters=2, kernel_size=2, stride=(2, 1, 3), activation="relu"),
        (2, 2, 3, 2),
    ),
    (layers.DepthwiseConv2D(kernel_size=3), (3, 5, 4)),
    (layers.DepthwiseConv2D(kernel_size=(2, 3), multiplier=2, stride=2, padding="same"), (3, 5, 6)),
    (layers.DepthwiseConv1D(kernel_size=3, multiplier=2, padding=1), SEQUENCE),
    (layers.SeparableConv2D(filters=5, kernel_size=2), (3, 5, 4)),
    (
        layers.SeparableConv2D(filters=2, kernel_size=3, multiplier=2, dilation=2, bias=False),
        (3, 6, 6),
    ),
    (layers.SeparableConv1D(filters=3, kernel_size=3, stride=2, padding="same"), SEQUENCE),
    (layers.MaxPool2D(size=2), (2, 5, 4)),
    (layers.MaxPool2D(size=3, stride=2, padding=1), (2, 5, 6)),
    (layers.MaxPool2D(size=3, stride=2, rounding="ceil"), (2, 6, 8)),
    (layers.MaxPool2D(size=(2, 3), stride=(1, 2), padding="same"), (1, 5, 6)),
    (layers.MaxPool2D(size=2, stride=1, dilation=(2, 3), padding=1), (1, 5, 6)),
    (layers.MaxPool1D(size=2), SEQUENCE),
    (layers.MaxPool1D(size=3, stride=2, padding=(1, 0), rounding="ceil"), (8, 3)),
    (layers.MaxPool3D(size=2, stride=(1, 2, 1), padding=(0, 1, 0)), VOLUME),
    (layers.AvgPool2D(size=2), (2, 5, 4)),
    (layers.AvgPool2D(size=3, stride=2, padding=1), (2, 5, 6)),
    (layers.AvgPool2D(size=3, stride=2, padding=1, count_padding=True), (2, 5, 6)),
    (layers.AvgPool2D(size=3, stride=2, padding=1, rounding="ceil", count_padding=True), (1, 6, 8)),
    (layers.AvgPool2D(size=2, stride=2, rounding="ceil"), (1, 5, 5)),
    (
        layers.AvgPool2D(size=2, stride=3, dilation=3, rounding="ceil", count_padding=True),
        (1, 6, 8),
    ),
    (layers.AvgPool1D(size=2, padding="same"), SEQUENCE),
    (layers.AvgPool1D(size=3, stride=2, padding=1, rounding="ceil", count_padding=True), (8, 3)),
    (layers.AvgPool3D(size=(2, 3, 2), stride=1, padding=(1, 1, 0)), VOLUME),
    (layers.AvgPool3D(size=3, stride=2, padding=1, rounding="ceil", count_padding=True), VOLUME),
    (layers.LpPool2D(size=2), (2, 5, 4)),
    (layers.LpPool2D(size=3, stride=2, p=3, padding=1, rounding="ceil"), (2, 6, 5)),
    (layers.LpPool1D(size=2, p=1), SEQUENCE),
    (layers.LpPool3D(size=2, p=2.5), VOLUME),
]


def each(layer, value):
    return value if isinstance(value, tuple) else (value,) * layer.axes


def channels_first(layer, x):
    return x.swapaxes(1, 2) if layer.axes == 1 else x


def sides(layer, spans):
    """Translates a layer's `padding` option to lax's form."""
    if layer.padding == "same":
        return "SAME"
    if layer.padding == "causal":
        return [(spans[0] - 1, 0)]
    if layer.axes == 1 and isinstance(layer.padding, tuple):
        return [layer.padding]
    return [p if isinstance(p, tuple) else (p, p) for p in each(layer, layer.padding)]


def spans(layer, sizes):
    dilation = each(layer, layer.dilation)
    return [d * (k - 1) + 1 for k, d in zip(each(layer, sizes), dilation, strict=True)]


def convolved(layer, x, w, groups):
    return lax.conv_general_dilated(
        x,
        w,
        each(layer, layer.stride),
        sides(layer, spans(layer, layer.kernel_size)),
        rhs_dilation=each(layer, layer.dilation),
        feature_group_count=groups,
    )


def finished(layer, params, y):
    y = y + params["b"].reshape(-1, *[1] * layer.axes) if layer.bias else y
    return channels_first(layer, y if layer.activation is None else jax.nn.relu(y))


def conv(layer, params, x, buffers, training):
    y = convolved(layer, channels_first(layer, x), params["W"], layer.groups)
    return finished(layer, params, y)


def depthwise(layer, params, x, buffers, training):
    x = channels_first(layer, x)
    return finished(layer, params, convolved(layer, x, params["W"], x.shape[1]))


def separable(layer, params, x, buffers, training):
    x = channels_first(layer, x)
    y = convolved(layer, x, params["D"], x.shape[1])
    w = params["W"].reshape(layer.filters, -1)
    return finished(layer, params, jnp.einsum("nc...,fc->nf...", y, w))


def conv_transpose(layer, params, x, buffers, training):
    """Dilates x by the stride, then convolves it with flipped filters."""
    x, w, groups = channels_first(layer, x), params["W"], layer.groups
    if layer.padding == "same":
        options = each(layer, layer.stride), "SAME", each(layer, layer.dilation)
        axes = "".join("DHW"[-layer.axes :])
        names = (f"NC{axes}", f"OI{axes}", f"NC{axes}")
        y = lax.conv_transpose(x, w, *options, names, transpose_kernel=True)
        return finished(layer, params, y)
    w = w.reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
    w = jnp.flip(w.reshape(layer.filters, -1, *w.shape[3:]), range(2, 2 + layer.axes))
    reach = spans(layer, layer.kernel_size)
    places = zip(reach, sides(layer, reach), each(layer, layer.output_padding), strict=True)
    y = lax.conv_general_dilated(
        x,
        w,
        (1,) * layer.axes,
        [(k - 1 - before, k - 1 - after + rest) for k, (before, after), rest in places],
        lhs_dilation=each(layer, layer.stride),
        rhs_dilation=each(layer, layer.dilation),
        feature_group_count=groups,
    )
    return finished(layer, params, y)


def windows(layer, x, start, combine):
    """Runs reduce_window; "ceil" rounding becomes extra padding at the end."""
    size, dilation = each(layer, layer.size), each(layer, layer.dilation)
    stride = each(layer, layer.size if layer.stride is None else layer.stride)
    padding = sides(layer, spans(layer, layer.size))
    x = channels_first(layer, x)
    if layer.rounding == "ceil":
        shape = layer.out_shape(x.shape[1:] if layer.axes > 1 else x.shape[:0:-1])
        out = shape[1:] if layer.axes > 1 else shape[:1]
        reach = [(m - 1) * s + k for m, s, k in zip(out, stride, spans(layer, layer.size))]
        more = [span - n - sum(p) for span, n, p in zip(reach, x.shape[2:], padding)]
        padding = [(a, b + max(0, m)) for (a, b), m in zip(padding, more)]
    if padding != "SAME":
        padding = [(0, 0), (0, 0), *padding]
    sizes = (1, 1, *size), (1, 1, *stride)
    ones = (1,) * x.ndim
    y = lax.reduce_window(x, start, combine, *sizes, padding, ones, (1, 1, *dilation))
    return channels_first(layer, y)


def max_pool(layer, params, x, buffers, training):
    """Pools by patches if dilated, as jax has no gradient of a dilated reduce_window."""
    if layer.dilation == 1:
        return windows(layer, x, -jnp.inf, lax.max)
    sizes = each(layer, layer.size), each(layer, layer.stride), sides(layer, None)
    patches = lax.conv_general_dilated_patches(
        x + 10, *sizes, rhs_dilation=each(layer, layer.dilation)
    )
    return patches.reshape(*x.shape[:2], -1, *patches.shape[2:]).max(2) - 10


def avg_pool(layer, params, x, buffers, training):
    if not layer.count_padding:
        return windows(layer, x, 0.0, lax.add) / windows(layer, jnp.ones_like(x), 0.0, lax.add)
    padding = [(0, 0), (0, 0), *sides(layer, None)]
    x = channels_first(layer, jnp.pad(channels_first(layer, x), padding))
    options = {"stride": layer.stride, "rounding": layer.rounding, "dilation": layer.dilation}
    bare = type(layer)(size=layer.size, **options)
    return windows(bare, x, 0.0, lax.add) / windows(bare, jnp.ones_like(x), 0.0, lax.add)


def lp_pool(layer, params, x, buffers, training):
    return windows(layer, jnp.abs(x) ** layer.p, 0.0, lax.add) ** (1 / layer.p)


KINDS = {
    "Conv{}D": conv,
    "Conv{}DTranspose": conv_transpose,
    "MaxPool{}D": max_pool,
    "AvgPool{}D": avg_pool,
    "LpPool{}D": lp_pool,
}
THEIRS = {
    **{name.format(axes): theirs for name, theirs in KINDS.items() for axes in (1, 2, 3)},
    **{f"DepthwiseConv{axes}D": depthwise for axes in (1, 2)},
    **{f"SeparableConv{axes}D": separable for axes in (1, 2)},
}
