"""Layers that rearrange, crop, pad or repeat."""

from functools import partial

from sparkdl.interop.keras.places import no_masks
from sparkdl.nn import layers as nn

PADDED = {1: nn.ZeroPadding1D, 2: nn.ZeroPadding2D, 3: nn.ZeroPadding3D}
CROPPED = {1: nn.Cropping1D, 2: nn.Cropping2D, 3: nn.Cropping3D}
GROWN = {1: nn.UpSampling1D, 2: nn.UpSampling2D, 3: nn.UpSampling3D}


def flatten(at):
    x = at.images(at.one()) if len(at.one().shape) > 2 else at.one()
    first = at.options.take("data_format") == "channels_first"
    no_masks([x], "Flatten")
    if len(x.shape) > 1 and first:
        x = at.add(nn.Permute(order=(*range(1, len(x.shape)), 0)), x, helper=True)
    return at.add(nn.Flatten(), at.plain(x))


def reshape(at):
    x = at.plain(at.one())
    no_masks([x], "Reshape")
    shape = at.options.take("target_shape")
    at.options.need(isinstance(shape, list | tuple) and len(shape) > 0, "target_shape", shape)
    return at.add(nn.Reshape(shape=tuple(shape)), x)


def permute(at):
    x = at.plain(at.one())
    no_masks([x], "Permute")
    order = at.options.take("dims")
    return at.add(nn.Permute(order=tuple(axis - 1 for axis in order)), x)


def repeat_vector(at):
    return at.add(nn.RepeatVector(count=at.options.size("n")), at.one())


def border(kinds, option, axes, at):
    x = at.images(at.one())
    no_masks([x], "padding or cropping")
    amount = at.options.take(option, 1)
    return at.add(kinds[axes](amount=amount), x)


def up_sampling(axes, at):
    x = at.images(at.one())
    no_masks([x], "up-sampling")
    options = {}
    if axes == 2:
        way = at.options.take("interpolation", "nearest")
        at.options.need(way in ("nearest", "bilinear"), "interpolation", way)
        options["interpolation"] = way
    return at.add(GROWN[axes](size=at.options.sizes("size", axes, 2), **options), x)


RESHAPING = {
    "Flatten": flatten,
    "Reshape": reshape,
    "Permute": permute,
    "RepeatVector": repeat_vector,
    **{f"ZeroPadding{n}D": partial(border, PADDED, "padding", n) for n in PADDED},
    **{f"Cropping{n}D": partial(border, CROPPED, "cropping", n) for n in CROPPED},
    **{f"UpSampling{n}D": partial(up_sampling, n) for n in GROWN},
}
