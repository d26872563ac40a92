"""Layers that resize or globally pool the spatial axes, and their jax equivalents."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from sparkdl.nn import layers
from tests.nn.layer_cases.windows import SEQUENCE, VOLUME, channels_first, each, sides, spans

LAYERS = [
    (layers.UpSampling1D(), (4, 3)),
    (layers.UpSampling1D(size=3), (4, 3)),
    (layers.UpSampling2D(size=(2, 3)), (2, 3, 4)),
    (layers.UpSampling2D(interpolation="bilinear"), (2, 3, 4)),
    (layers.UpSampling2D(size=(3, 1), interpolation="bilinear"), (2, 1, 4)),
    (layers.UpSampling3D(size=(2, 1, 3)), VOLUME),
    (layers.ZeroPadding1D(amount=2), (4, 3)),
    (layers.ZeroPadding1D(amount=(0, 3)), (4, 3)),
    (layers.ZeroPadding2D(amount=(1, 2)), (2, 3, 4)),
    (layers.ZeroPadding2D(amount=((0, 1), (2, 0))), (2, 3, 4)),
    (layers.ZeroPadding3D(amount=1), VOLUME),
    (layers.ZeroPadding3D(amount=((0, 1), (1, 0), (2, 2))), VOLUME),
    (layers.Cropping1D(amount=1), (4, 3)),
    (layers.Cropping1D(amount=(2, 0)), (4, 3)),
    (layers.Cropping2D(amount=1), (2, 3, 4)),
    (layers.Cropping2D(amount=((0, 2), (1, 1))), (2, 3, 4)),
    (layers.Cropping3D(amount=(1, 2, 0)), VOLUME),
    (layers.SpaceToDepth(), (3, 4, 6)),
    (layers.SpaceToDepth(block=3), (2, 3, 6)),
    (layers.DepthToSpace(), (8, 2, 3)),
    (layers.DepthToSpace(block=1), (2, 2, 3)),
    (layers.LocallyConnected2D(filters=3, kernel_size=2), (2, 4, 3)),
    (
        layers.LocallyConnected2D(
            filters=2,
            kernel_size=(3, 2),
            stride=(2, 1),
            padding=(1, 0),
            dilation=(1, 2),
            bias=False,
        ),
        (2, 5, 4),
    ),
    (
        layers.LocallyConnected2D(filters=2, kernel_size=3, padding="same", activation="relu"),
        (1, 3, 4),
    ),
    (layers.LocallyConnected1D(filters=4, kernel_size=3), SEQUENCE),
    (layers.LocallyConnected1D(filters=2, kernel_size=2, stride=3, padding="same"), SEQUENCE),
    *[
        (layers.GlobalPool(kind=kind), shape)
        for kind in ("avg", "max", "sum", "lp")
        for shape in ((5, 3), (3, 4, 5), VOLUME)
    ],
    (layers.GlobalPool(kind="lp", p=3), (3, 4, 5)),
    (layers.SpatialPyramidPool(height=1), (3, 4, 5)),
    (layers.SpatialPyramidPool(height=3), (2, 7, 8)),
    (layers.SpatialPyramidPool(height=3, kind="avg"), (2, 8, 7)),
    (layers.SpatialPyramidPool(height=2, kind="avg"), (2, 5, 3)),
]


def upsampled(layer, params, x, buffers, training):
    x = channels_first(layer, x)
    if getattr(layer, "interpolation", "nearest") == "bilinear":
        size = [n * s for n, s in zip(x.shape[2:], each(layer, layer.size), strict=True)]
        return jax.image.resize(x, (*x.shape[:2], *size), "linear", antialias=False)
    for axis, times in enumerate(each(layer, layer.size), 2):
        x = jnp.repeat(x, times, axis)
    return channels_first(layer, x)


def amounts(layer):
    if layer.axes == 1 and isinstance(layer.amount, tuple):
        return [layer.amount]
    return [a if isinstance(a, tuple) else (a, a) for a in each(layer, layer.amount)]


def padded(layer, params, x, buffers, training):
    y = jnp.pad(channels_first(layer, x), [(0, 0), (0, 0), *amounts(layer)])
    return channels_first(layer, y)


def cropped(layer, params, x, buffers, training):
    x = channels_first(layer, x)
    for axis, (before, after) in enumerate(amounts(layer), 2):
        x = jnp.take(x, np.arange(before, x.shape[axis] - after), axis)
    return channels_first(layer, x)


def space_to_depth(layer, params, x, buffers, training):
    """Stacks the strided slice of each position within a block as channels."""
    size = layer.block
    places = [x[:, :, i::size, j::size] for i in range(size) for j in range(size)]
    return jnp.concatenate(places, axis=1)


def depth_to_space(layer, params, x, buffers, training):
    size, channels = layer.block, x.shape[1] // layer.block**2
    y = jnp.zeros((len(x), channels, x.shape[2] * size, x.shape[3] * size))
    for place in range(size**2):
        part = x[:, place * channels : (place + 1) * channels]
        y = y.at[:, :, place // size :: size, place % size :: size].set(part)
    return y


def locally_connected(layer, params, x, buffers, training):
    x = channels_first(layer, x)
    out = layer.out_shape(x.shape[1:] if layer.axes > 1 else x.shape[:0:-1])
    places = out[1:] if layer.axes > 1 else out[:1]
    w = params["W"].transpose(2, 1, 0)
    letters = "DHW"[-layer.axes :]
    y = lax.conv_general_dilated_local(
        x,
        w.reshape(*w.shape[:2], *places),
        each(layer, layer.stride),
        sides(layer, spans(layer, layer.kernel_size)),
        each(layer, layer.kernel_size),
        rhs_dilation=each(layer, layer.dilation),
        dimension_numbers=(f"NC{letters}", f"OI{letters}", f"NC{letters}"),
    )
    y = channels_first(layer, y) + params.get("b", 0)
    return y if layer.activation is None else jax.nn.relu(y)


def global_pool(layer, params, x, buffers, training):
    axes = (1,) if x.ndim == 3 else tuple(range(2, x.ndim))
    if layer.kind == "lp":
        return jnp.linalg.norm(
            jnp.moveaxis(x, axes, range(-len(axes), 0)).reshape(
                len(x), -1, np.prod([x.shape[a] for a in axes])
            ),
            layer.p,
            axis=-1,
        )
    return {"avg": jnp.mean, "max": jnp.max, "sum": jnp.sum}[layer.kind](x, axis=axes)


def pyramid(layer, params, x, buffers, training):
    """Pools bin by bin, with each bin's bounds in the image and in its padding."""
    rows = []
    for level in range(layer.height):
        bins = 2**level
        edges = [list(bounds(n, bins)) for n in x.shape[2:]]
        rows += [
            jnp.stack(
                [
                    binned(layer.kind, x[:, c], row, column)
                    for c in range(x.shape[1])
                    for row in edges[0]
                    for column in edges[1]
                ],
                axis=1,
            )
        ]
    return jnp.concatenate(rows, axis=1)


def bounds(n, bins):
    """Yields (start, stop, length including padding) of each bin along an axis of length n."""
    size = -(-n // bins)
    before = (size * bins - n + 1) // 2
    for start in range(-before, bins * size - before, size):
        yield max(start, 0), min(start + size, n), min(start + size, n + before) - start


def binned(kind, x, row, column):
    part = x[:, row[0] : row[1], column[0] : column[1]]
    return part.max((1, 2)) if kind == "max" else part.sum((1, 2)) / (row[2] * column[2])


KINDS = {"UpSampling{}D": upsampled, "ZeroPadding{}D": padded, "Cropping{}D": cropped}
THEIRS = {
    **{name.format(axes): theirs for name, theirs in KINDS.items() for axes in (1, 2, 3)},
    "SpaceToDepth": space_to_depth,
    "DepthToSpace": depth_to_space,
    "LocallyConnected1D": locally_connected,
    "LocallyConnected2D": locally_connected,
    "GlobalPool": global_pool,
    "SpatialPyramidPool": pyramid,
}
