"""Layers with windows: convolutions and pooling."""

from dataclasses import replace
from functools import partial

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.layers.convolution import (
    CONVS,
    DEPTHWISE,
    SEPARABLE,
    TRANSPOSED,
    into_channels,
    into_filters,
    into_outputs,
)
from sparkdl.interop.keras.layers.pooling import GLOBAL, POOLS
from sparkdl.interop.keras.layers.reshaping import PADDED
from sparkdl.interop.keras.writing import members
from sparkdl.interop.keras.writing.weighted import activated, plain_numbers, weighted
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.windows.geometry import per_axis, window_padding


def space_of(at):
    return at.in_shape[:1] if len(at.in_shape) == 2 else at.in_shape[1:]


def windows(layer, axes):
    """Returns the Keras options of windows, without the padding."""
    return {
        "kernel_size": list(per_axis(layer.kernel_size, axes)),
        "strides": list(per_axis(layer.stride, axes)),
        "dilation_rate": list(per_axis(layer.dilation, axes)),
    }


def amounts(at, size):
    """Returns the padding (before, after) of each axis."""
    layer, rounding = at.layer, getattr(at.layer, "rounding", "floor")
    stride = size if layer.stride is None else layer.stride
    given = space_of(at), size, stride
    found = window_padding(*given, layer.padding, layer.dilation, rounding)
    same = window_padding(*given, "same", layer.dilation)
    return found, same


def padding_of(at, size):
    """Returns Keras's name of the padding, or None."""
    if at.layer.padding in ("same", "causal"):
        return at.layer.padding
    found, same = amounts(at, size)
    if all(pair == (0, 0) for pair in found):
        return "valid"
    return "same" if found == same else None


def padded(at, axes):
    """Returns (input, Keras's name of the padding, layer that must result from reading).

    Padding that Keras cannot express becomes a layer before it.
    """
    x, word = at.last(), padding_of(at, at.layer.kernel_size)
    if word is not None:
        return x, word, replace(at.layer, padding=0 if word == "valid" else word)
    found, _ = amounts(at, at.layer.kernel_size)
    zeros = PADDED[axes](amount=found[0] if axes == 1 else found)
    config = {"padding": plain_numbers(zeros.amount)}
    x = at.add(f"ZeroPadding{axes}D", config, x, expected=zeros, helper="padding")
    return x, "valid", replace(at.layer, padding=0)


def conv(kind, axes, at, **more):
    layer = at.layer
    if max(per_axis(layer.stride, axes)) > 1 and max(per_axis(layer.dilation, axes)) > 1:
        raise UnsupportedError("a stride and a dilation at once are not supported")
    x, word, expected = padded(at, axes)
    config = windows(layer, axes) | {"padding": word} | more
    return activated(at, f"{kind}{axes}D", config, x, expected=expected)


def plain_conv(axes, at):
    more = {"filters": at.layer.filters, "groups": at.layer.groups}
    return conv("Conv", axes, at, **more, **weighted(at, into_filters(axes)))


def depthwise(axes, at):
    more = weighted(at, into_channels(axes), "depthwise")
    return conv("DepthwiseConv", axes, at, depth_multiplier=at.layer.multiplier, **more)


def separable(axes, at):
    """Adds a separable convolution, whose two kernels share their training options."""
    layer = at.layer
    x, word, expected = padded(at, axes)
    config = windows(layer, axes) | {"padding": word, "filters": layer.filters}
    config |= {"depth_multiplier": layer.multiplier}
    config |= weighted(at, into_filters(axes), "pointwise")
    if at.training:
        for name in ("initializer", "regularizer"):
            config[f"depthwise_{name}"] = config[f"pointwise_{name}"]
        kept = members.constraint(layer.constraints, into_channels(axes))
        config["depthwise_constraint"] = kept
    return activated(at, f"SeparableConv{axes}D", config, x, expected=expected)


def transposed(axes, at):
    layer = at.layer
    word = "same" if layer.padding == "same" else "valid"
    config = windows(layer, axes) | {"padding": word, "filters": layer.filters}
    config |= weighted(at, into_outputs(axes))
    return activated(at, f"Conv{axes}DTranspose", config, at.last())


def pool(kind, axes, at):
    layer, word = at.layer, padding_of(at, at.layer.size)
    if word is None:
        ceil = " with rounding='ceil'" if layer.rounding == "ceil" else ""
        raise UnsupportedError(f"padding={layer.padding}{ceil} is not supported")
    stride = layer.size if layer.stride is None else layer.stride
    padding = 0 if word == "valid" else word
    expected = replace(layer, stride=stride, padding=padding, rounding="floor")
    config = {
        "pool_size": list(per_axis(layer.size, axes)),
        "strides": list(per_axis(stride, axes)),
        "padding": word,
    }
    return at.add(f"{kind}Pooling{axes}D", config, at.last(), expected=expected)


def global_pool(at):
    names = {ours: name for name, ours in GLOBAL.items()}
    if at.layer.kind not in names:
        raise UnsupportedError(f"kind={at.layer.kind} is not supported")
    kind = f"Global{names[at.layer.kind]}Pooling{len(at.in_shape) - 1 or 1}D"
    return at.add(kind, {}, at.last())


WINDOWS = {
    **{kind: partial(plain_conv, axes) for axes, kind in CONVS.items()},
    **{kind: partial(transposed, axes) for axes, kind in TRANSPOSED.items()},
    **{kind: partial(depthwise, axes) for axes, kind in DEPTHWISE.items()},
    **{kind: partial(separable, axes) for axes, kind in SEPARABLE.items()},
    **{
        ours: partial(pool, kind, axes)
        for kind, each in POOLS.items()
        for axes, ours in each.items()
    },
    nn.GlobalPool: global_pool,
}
