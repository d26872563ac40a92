"""Layers of windows on images."""

from math import ceil

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.layers.parameters import weights
from sparkdl.interop.caffe.nets.names import name_of
from sparkdl.interop.caffe.policies import shortest
from sparkdl.nn import (
    LRN,
    AvgPool2D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    MaxPool2D,
    MaxPoolIndex2D,
    SpatialPyramidPool,
    StochasticPool2D,
    Unfold2D,
)

MAX, AVE, STOCHASTIC = range(3)
ROUNDING = ("ceil", "floor")
REGIONS = ("across_channels", "within_channel")


def convolution(layer, net):
    """Adds a convolution; several bottoms share its filters.

    Data with one spatial axis becomes an image of one column, so weights have an extra axis of 1.
    """
    options = layer.convolution_param
    shapes = {net.shape(net.by_channel(bottom)) for bottom in layer.bottom}
    if options.axis != 1 or len(shapes) != 1:
        raise UnsupportedError("a convolution must be along axis 1, of inputs of one shape")
    axes = len(shapes.pop()) - 1
    back = layer.type == "Deconvolution"
    image = Conv2D, Conv2DTranspose
    kind = {1: image, 2: image, 3: (Conv3D, Conv3DTranspose)}.get(axes)
    if kind is None:
        raise UnsupportedError(f"a convolution must have 1 to 3 axes of space, got {axes}")
    new_layer = kind[back](
        filters=options.num_output,
        groups=options.group,
        kernel_size=with_column(sizes(options, "kernel_size", axes), 1),
        stride=with_column(sizes(options, "stride", axes, 1), 1),
        padding=with_column(sizes(options, "pad", axes, 0), 0),
        dilation=with_column(sizes(options, "dilation", axes, 1), 1),
        **weights(layer, options, net, back),
    )
    for i, (bottom, top) in enumerate(zip(layer.bottom, layer.top, strict=True)):
        more = {"name": f"{name_of(layer)}/{top}", "shares": name_of(layer)} if i else {}
        if axes > 1:
            net.add(layer, new_layer, [bottom], top, **more)
        else:
            shape = (*net.shape(bottom), 1)
            seen = net.reshape_blob(layer, bottom, shape, f"{bottom}/image")
            net.add(layer, new_layer, [seen], top, **more)
            net.reshape_top(layer, net.shape(top)[:-1], top)


def with_column(values, number):
    """Extends options of one axis to an image of one column."""
    return values if len(values) > 1 else (*values, number)


def sizes(options, name, axes, default=None):
    """Returns an option for each axis, from (name)_h and (name)_w, or a list of one or all."""
    stem = name.removesuffix("_size")
    if any(f"{stem}_{side}" in set_fields(options) for side in "hw"):
        if axes != 2 or len(getattr(options, name, ())):
            raise ConfigError(f"{stem}_h and {stem}_w are for images only, and replace {name}")
        return tuple(getattr(options, f"{stem}_{side}") for side in "hw")
    given = list(getattr(options, name)) or [default]
    if given == [None] or len(given) not in (1, axes):
        raise ConfigError(f"{name} must be one number or {axes}, got {given}")
    return tuple(given) if len(given) == axes else tuple(given) * axes


def set_fields(options):
    return {field.name for field, _ in options.ListFields()}


def pooling(layer, net):
    options = layer.pooling_param
    bottom = net.by_channel(layer.bottom[0])
    window = {"size": pair(options, "kernel_size"), "stride": pair(options, "stride")}
    window |= {"padding": pair(options, "pad"), "rounding": ROUNDING[options.round_mode]}
    if options.global_pooling:
        window |= {"size": net.shape(bottom)[1:], "stride": (1, 1), "padding": (0, 0)}
    elif not all(window["size"]):
        raise ConfigError("a Pooling layer must have kernel_size, kernel_h and kernel_w, or global")
    if not all(window["stride"]):
        raise ConfigError(f"Pooling.stride must be at least 1, got {window['stride']}")
    if len(layer.top) > 1 and options.pool != MAX:
        raise ConfigError(f"Pooling.top must be 1 blob unless it pools by MAX, got {layer.top}")
    check_starts(window, net.shape(bottom)[1:])
    for top in layer.top[1:]:
        net.add(layer, MaxPoolIndex2D(**window), top=top, name=f"{name_of(layer)}/{top}")
    net.add(layer, pool_of(options.pool, window))


def check_starts(window, space):
    """Raises UnsupportedError for windows that begin beyond the image.

    With padding, Caffe drops them; otherwise they give -FLT_MAX or 0 / 0.
    """
    if window["rounding"] != "ceil" or any(window["padding"]):
        return
    for n, size, stride in zip(space, window["size"], window["stride"], strict=False):
        start = ceil((n - size) / stride) * stride
        if start >= n:
            raise UnsupportedError(
                f"windows must begin inside images of {tuple(space)}, got one of size {size} and "
                f"stride {stride} at {start}, where Caffe finds no number without pad; "
                "round_mode: FLOOR drops it"
            )


def pair(options, name):
    """Returns (rows, columns) of a pooling option."""
    stem = name.removesuffix("_size")
    one = getattr(options, name)
    return tuple(
        getattr(options, side) if options.HasField(side) else one
        for side in (f"{stem}_h", f"{stem}_w")
    )


def pool_of(kind, window):
    if kind == MAX:
        return MaxPool2D(**window)
    if kind == AVE:
        return AvgPool2D(**window, count_padding=any(window["padding"]))
    if any(window["padding"]):
        raise ConfigError(f"STOCHASTIC pooling must have no padding, got {window['padding']}")
    return StochasticPool2D(**window)


def im2col(layer, net):
    options = layer.convolution_param
    window = {
        "kernel_size": sizes(options, "kernel_size", 2),
        "stride": sizes(options, "stride", 2, 1),
    }
    window |= {"padding": sizes(options, "pad", 2, 0)}
    net.add(layer, Unfold2D(**window, dilation=sizes(options, "dilation", 2, 1)))


def lrn(layer, net):
    options = layer.lrn_param
    net.by_channel(layer.bottom[0])
    within = options.norm_region == 1
    net.add(
        layer,
        LRN(
            size=options.local_size,
            alpha=shortest(options.alpha),
            beta=shortest(options.beta),
            k=1.0 if within else shortest(options.k),  # Caffe uses k only across channels
            region=REGIONS[within],
        ),
    )


def spp(layer, net):
    options = layer.spp_param
    net.by_channel(layer.bottom[0])
    if options.pool == STOCHASTIC:
        raise UnsupportedError("SPP must pool by MAX or AVE, got STOCHASTIC")
    kind = "max" if options.pool == MAX else "avg"
    net.add(layer, SpatialPyramidPool(height=options.pyramid_height, kind=kind))


VISION = {
    "Convolution": convolution,
    "Deconvolution": convolution,
    "Pooling": pooling,
    "LRN": lrn,
    "SPP": spp,
    "Im2col": im2col,
}
