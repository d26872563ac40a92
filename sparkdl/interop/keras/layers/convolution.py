"""Convolutions; Keras's filters (rows, columns, in, out) become (out, in, rows, columns)."""

from functools import partial

import numpy as np

from sparkdl.interop.keras.layers.common import activated, biased, same_options, weighted
from sparkdl.interop.keras.members import constraint, initializer, regularizer
from sparkdl.interop.keras.places import Take
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.windows.geometry import per_axis, spans_of

CONVS = {1: nn.Conv1D, 2: nn.Conv2D, 3: nn.Conv3D}
TRANSPOSED = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}
DEPTHWISE = {1: nn.DepthwiseConv1D, 2: nn.DepthwiseConv2D}
SEPARABLE = {1: nn.SeparableConv1D, 2: nn.SeparableConv2D}


def filters(kernel):
    """Converts (rows, columns, in, out) to (out, in, rows, columns)."""
    return np.moveaxis(kernel, (-1, -2), (0, 1))


def per_channel(kernel):
    """Converts (rows, columns, channels, multiplier) to (channels multiplier, 1, rows, columns)."""
    moved = np.moveaxis(kernel, (-2, -1), (0, 1))
    return moved.reshape(-1, 1, *moved.shape[2:])


def filter_shape(shape):
    return (*shape[2:], shape[1], shape[0])


def per_channel_shape(multiplier, shape):
    return (*shape[2:], shape[0] // multiplier, multiplier)


def windows(at, axes):
    """Returns the options of windows: kernel size, stride, dilation, padding."""
    padding = at.options.take("padding", "valid")
    known = ("valid", "same", "causal") if axes == 1 else ("valid", "same")
    at.options.need(padding in known, "padding", padding)
    return {
        "kernel_size": at.options.sizes("kernel_size", axes),
        "stride": at.options.sizes("strides", axes, 1),
        "dilation": at.options.sizes("dilation_rate", axes, 1),
        "padding": 0 if padding == "valid" else padding,
    }


def axes_of_one(options, axes):
    """Returns the spatial axes along which a kernel has length 1."""
    return tuple(i for i, k in enumerate(per_axis(options["kernel_size"], axes)) if k == 1)


def into_filters(axes):
    """Returns the axes of a kernel (rows, columns, in, out) that span one filter."""
    return tuple(range(axes + 1))


def into_channels(axes):
    """Returns the axes of a kernel (rows, columns, channels, multiplier) that span one filter."""
    return tuple(range(axes))


def into_outputs(axes):
    """Returns the axes of a transposed kernel (rows, columns, out, in) that span one filter."""
    return (*range(axes), axes + 1)


def given(at):
    """Returns the input, with channels first."""
    return at.images(at.unmasked(at.one()))


def kernel_and_bias(layer, change=filters, shape=filter_shape):
    kernel = Take(ours="W", change=change, shape=shape)
    return [kernel, *([Take(ours="b")] if layer.bias else [])]


def conv(axes, at):
    x, options = given(at), windows(at, axes)
    layer = CONVS[axes](
        filters=at.options.size("filters"),
        groups=at.options.size("groups", 1),
        **options,
        **weighted(at.options, axes=into_filters(axes), single=axes_of_one(options, axes)),
        **activated(at, x),
    )
    at.options.only(lora_rank=None, quantization_config=None)
    return at.add(layer, x, takes=kernel_and_bias(layer))


def conv_transpose(axes, at):
    """With padding "valid", n pixels become (n - 1) stride + max(kernel, stride)."""
    x = given(at)
    options = windows(at, axes)
    at.options.need(options["padding"] != "causal", "padding", "causal")
    at.options.only(output_padding=None)
    more = 0
    if options["padding"] == 0:
        spans = spans_of(options["kernel_size"], options["dilation"], axes)
        strides = per_axis(options["stride"], axes)
        more = tuple(max(s - k, 0) for k, s in zip(spans, strides, strict=True))
        more = more[0] if axes == 1 else more
    layer = TRANSPOSED[axes](
        filters=at.options.size("filters"),
        groups=at.options.size("groups", 1),
        output_padding=more,
        **options,
        **weighted(at.options, axes=into_outputs(axes)),
        **activated(at, x),
    )
    at.options.need(layer.groups == 1, "groups", layer.groups)
    return at.add(layer, x, takes=kernel_and_bias(layer))


def depthwise_conv(axes, at):
    x, options = given(at), windows(at, axes)
    single = axes_of_one(options, axes)
    layer = DEPTHWISE[axes](
        multiplier=at.options.size("depth_multiplier", 1),
        **options,
        **weighted(at.options, "depthwise", into_channels(axes), single=single),
        **activated(at, x),
    )
    at.options.only(lora_rank=None, quantization_config=None)
    shape = partial(per_channel_shape, layer.multiplier)
    return at.add(layer, x, takes=kernel_and_bias(layer, per_channel, shape))


def separable_conv(axes, at):
    x = given(at)
    same_options(at.options, "pointwise_regularizer", "depthwise_regularizer")
    at.options.take("depthwise_initializer")
    l1, l2 = regularizer(at.options.take("pointwise_regularizer"))
    constraints = constraint(at.options.take("pointwise_constraint"), into_filters(axes))
    other = at.options.take("depthwise_constraint")
    same = constraint(other, into_channels(axes)) == constraints
    at.options.need(same, "depthwise_constraint", other)
    layer = SEPARABLE[axes](
        filters=at.options.size("filters"),
        multiplier=at.options.size("depth_multiplier", 1),
        initializer=initializer(at.options.take("pointwise_initializer", "glorot_uniform")),
        l1=l1,
        l2=l2,
        constraints=constraints,
        **windows(at, axes),
        **biased(at.options),
        **activated(at, x),
    )
    shape = partial(per_channel_shape, layer.multiplier)
    depthwise = Take(ours="D", change=per_channel, shape=shape)
    return at.add(layer, x, takes=[depthwise, *kernel_and_bias(layer)])


CONVOLUTION = {
    **{f"Conv{n}D": partial(conv, n) for n in CONVS},
    **{f"Convolution{n}D": partial(conv, n) for n in CONVS},
    **{f"Conv{n}DTranspose": partial(conv_transpose, n) for n in TRANSPOSED},
    **{f"DepthwiseConv{n}D": partial(depthwise_conv, n) for n in DEPTHWISE},
    **{f"SeparableConv{n}D": partial(separable_conv, n) for n in SEPARABLE},
}
