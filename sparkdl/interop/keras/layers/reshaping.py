"""Layers that rearrange, crop, pad or repeat."""

from dataclasses import replace
from functools import partial

from sparkdl.interop.keras.places import no_masks
from sparkdl.nn import layers as nn

PADDED = {1: nn.ZeroPadding1D, 2: nn.ZeroPadding2D, 3: nn.ZeroPadding3D}
CROPPED = {1: nn.Cropping1D, 2: nn.Cropping2D, 3: nn.Cropping3D}
GROWN = {1: nn.UpSampling1D, 2: nn.UpSampling2D, 3: nn.UpSampling3D}


def flatten(at):
    x = at.images(at.one()) if len(at.one().shape) > 2 else without_mask(at)
    first = at.options.take("data_format") == "channels_first"
    if len(x.shape) > 1 and first:
        x = at.add(nn.Permute(order=(*range(1, len(x.shape)), 0)), x, helper=True)
    return at.add(nn.Flatten(), at.plain(x))


def without_mask(at):
    """Returns the input of a layer that makes rows of it, which have no mask here either."""
    x = at.one()
    return replace(x, mask=None) if x.filled else at.unmasked(x)


def changed(at, layer, x):
    """Adds a layer; raises UnsupportedError where it changes nothing, and so no mask in Keras."""
    if layer.out_shape(x.shape) == x.shape:
        no_masks(at.inputs, f"{at.kind} to the same shape")
    return at.add(layer, x)


def reshape(at):
    shape = at.options.take("target_shape")
    at.options.need(isinstance(shape, list | tuple) and len(shape) > 0, "target_shape", shape)
    x = at.plain(without_mask(at) if len(shape) == 1 else at.unmasked(at.one()))
    return changed(at, nn.Reshape(shape=tuple(shape)), x)


def permute(at):
    x = at.plain(at.unmasked(at.one()))
    order = at.options.take("dims")
    return changed(at, nn.Permute(order=tuple(axis - 1 for axis in order)), x)


def repeat_vector(at):
    return at.add(nn.RepeatVector(count=at.options.size("n")), at.one())


def border(kinds, option, axes, at):
    x = at.images(at.unmasked(at.one()))
    amount = at.options.take(option, 1)
    return changed(at, kinds[axes](amount=amount), x)


def up_sampling(axes, at):
    x = at.images(at.unmasked(at.one()))
    options = {}
    if axes == 2:
        way = at.options.take("interpolation", "nearest")
        at.options.need(way in ("nearest", "bilinear"), "interpolation", way)
        options["interpolation"] = way
    return changed(at, GROWN[axes](size=at.options.sizes("size", axes, 2), **options), x)


RESHAPING = {
    "Flatten": flatten,
    "Reshape": reshape,
    "Permute": permute,
    "RepeatVector": repeat_vector,
    **{f"ZeroPadding{n}D": partial(border, PADDED, "padding", n) for n in PADDED},
    **{f"Cropping{n}D": partial(border, CROPPED, "cropping", n) for n in CROPPED},
    **{f"UpSampling{n}D": partial(up_sampling, n) for n in GROWN},
}
