"""Convolutions, whose bias precedes the filters (out, in, rows, columns) in C order."""

import numpy as np

from sparkdl.interop.dl4j.layers.dense import activated
from sparkdl.interop.dl4j.places import array
from sparkdl.nn import layers as nn


def channels_first(at):
    """Refuses images with channels last."""
    for name in ("cnn2ddataformat", "cnn2dformat", "dataformat", "format"):
        given = at.options.word(name, "nchw")
        at.options.need(given in ("nchw", "ncw", "nwc"), name, given)


def sizes(options, name, axes, default=None):
    """Returns a number per axis; a single axis uses the first of possibly two numbers."""
    value = options.take(name, default)
    value = [value] * axes if type(value) is int else value
    sound = isinstance(value, list) and len(value) >= axes and all(type(n) is int for n in value)
    options.need(sound and len(value) <= max(axes, 2), name, value)
    return value[0] if axes == 1 else tuple(value)


def windows(at, axes, kernel="kernel_size"):
    """Returns the options of windows: size, stride, padding."""
    channels_first(at)
    options = at.options
    mode = options.word("convolutionmode", "truncate")
    known = ("truncate", "strict", "same", *(("causal",) if axes == 1 else ()))
    options.need(mode in known, "convolutionMode", mode)
    padding = sizes(options, "padding", axes, 0)
    return {
        kernel: sizes(options, "kernelsize", axes),
        "stride": sizes(options, "stride", axes, 1),
        "dilation": sizes(options, "dilation", axes, 1),
        "padding": mode if mode in ("same", "causal") else padding,
    }


def biased(layer, count):
    return [array("b", (count,), bias=True)] if layer.bias else []


def conv(axes, at):
    x = at.one()
    layer = {1: nn.Conv1D, 2: nn.Conv2D}[axes](
        filters=at.options.size("nout"),
        bias=at.options.flag("hasbias", True),
        **windows(at, axes),
        **activated(at, x if axes > 1 else None),
        **at.trained(),
    )
    count = channels(at, x, axes)
    filters = along_steps(at, layer, count) if axes == 1 else image_filters(layer, count)
    return at.add(layer, x, takes=[*biased(layer, layer.filters), filters])


def image_filters(layer, count):
    return array("W", (layer.filters, count, *layer.kernel_size))


def along_steps(at, layer, count):
    """Returns the Take of 1D filters.

    1.0.0-M2 stores (steps, in, out) and writes the kernel as [n, n]; earlier versions store (out,
    in, steps, 1) and write [n, 1].
    """
    size, kernel = layer.kernel_size, at.options.take("kernelsize")
    at.options.need(size > 1, "kernelSize", kernel)  # [1, 1] is ambiguous
    if kernel == [size, size]:
        return array("W", (size, count, layer.filters), change=np.transpose)
    at.options.need(kernel == [size, 1], "kernelSize", kernel)
    shape = (layer.filters, count, size, 1)
    return array("W", shape, change=lambda w: w.reshape(w.shape[:3]))


def channels(at, place, axes):
    """Returns the number of input channels, which must match the file."""
    count = place.shape[-1] if axes == 1 else place.shape[0]
    at.options.need(at.options.size("nin", count) in (0, count), "nIn", at.options.values)
    return count


def deconv(at):
    x = at.one()
    layer = nn.Conv2DTranspose(
        filters=at.options.size("nout"),
        bias=at.options.flag("hasbias", True),
        **windows(at, 2),
        **activated(at, x),
        **at.trained(),
    )
    shape = (channels(at, x, 2), layer.filters, *layer.kernel_size)
    return at.add(layer, x, takes=[*biased(layer, layer.filters), array("W", shape)])


def per_channel(filters):
    """Converts (multiplier, channels, rows, columns) to (channels multiplier, 1, rows, columns)."""
    moved = np.swapaxes(filters, 0, 1)
    return moved.reshape(-1, 1, *moved.shape[2:])


def depth_last(filters):
    """Converts (rows, columns, channels, multiplier) to (channels multiplier, 1, rows, columns)."""
    return per_channel(filters.transpose(3, 2, 0, 1))


def depthwise(at):
    x = at.one()
    layer = nn.DepthwiseConv2D(
        multiplier=at.options.size("depthmultiplier", 1),
        bias=at.options.flag("hasbias", True),
        **windows(at, 2),
        **activated(at, x),
        **at.trained(),
    )
    count = channels(at, x, 2)
    at.unused("nout")
    shape = (*layer.kernel_size, count, layer.multiplier)
    filters = array("W", shape, change=depth_last)
    return at.add(layer, x, takes=[*biased(layer, count * layer.multiplier), filters])


def separable(at):
    x = at.one()
    layer = nn.SeparableConv2D(
        filters=at.options.size("nout"),
        multiplier=at.options.size("depthmultiplier", 1),
        bias=at.options.flag("hasbias", True),
        **windows(at, 2),
        **activated(at, x),
        **at.trained(),
    )
    count = channels(at, x, 2)
    takes = [
        *biased(layer, layer.filters),
        array("D", (layer.multiplier, count, *layer.kernel_size), change=per_channel),
        array("W", (layer.filters, count * layer.multiplier, 1, 1)),
    ]
    return at.add(layer, x, takes=takes)


POOLS = {
    ("max", 1): nn.MaxPool1D,
    ("max", 2): nn.MaxPool2D,
    ("avg", 1): nn.AvgPool1D,
    ("avg", 2): nn.AvgPool2D,
}


def pool(axes, at):
    x, kind = at.one(), at.options.word("poolingtype", "max")
    at.options.need((kind, axes) in POOLS, "poolingType", kind)
    given = windows(at, axes, "size")
    counted = at.options.flag("avgpoolincludepadindivisor")
    more = {"count_padding": True} if kind == "avg" and counted else {}
    at.unused("eps", "pnorm")
    return at.add(POOLS[kind, axes](**given, **more), x)


def batch_norm(at):
    x, options = at.one(), at.options
    channels_first(at)
    count = x.shape[0] if len(x.shape) > 2 else x.shape[-1]
    locked = options.flag("lockgammabeta")
    options.need(not locked or without_factors(options), "lockGammaBeta", locked)
    options.only(minibatch=True)
    at.unused("activationfn", "nin", "nout", "gamma", "beta")
    layer = nn.BatchNorm(
        momentum=options.number("decay", 0.9),
        epsilon=options.number("eps", 1e-5),
        scale=not locked,
        shift=not locked,
        **at.trained(penalized=False),
    )
    logarithm = options.flag("uselogstd")
    variance = (lambda v: np.power(10.0, 2.0 * v)) if logarithm else (lambda v: v)
    takes = [] if locked else [array("gamma", (count,)), array("beta", (count,))]
    takes += [array("mean", (count,), trained=False)]
    takes += [array("variance", (count,), change=variance, trained=False)]
    return at.add(layer, x, takes=takes)


def without_factors(options):
    return options.number("gamma", 1.0) == 1.0 and options.number("beta", 0.0) == 0.0


CONVOLUTION = {
    "batchnormalization": batch_norm,
    "convolution": lambda at: conv(2, at),
    "convolution1d": lambda at: conv(1, at),
    "convolution2d": lambda at: conv(2, at),
    "deconvolution2d": deconv,
    "depthwiseconvolution2d": depthwise,
    "separableconvolution2d": separable,
    "subsampling": lambda at: pool(2, at),
    "subsampling1d": lambda at: pool(1, at),
}
