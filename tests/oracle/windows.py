"""Layers over windows: sizes, strides, dilations, and paddings up to and beyond the window."""

from sparkdl.nn import layers
from tests.oracle.options import options_of


def per_axis(choices, axes, low, high):
    """Draws one number for all axes, or one for each."""
    if axes > 1 and choices.chance(0.4):
        return tuple(choices.integer(low, high) for _ in range(axes))
    return choices.integer(low, high)


def padding(choices, axes, causal=False):
    """Draws 0, one number, one or two per axis, or a word."""
    kind = choices.pick(("none", "number", "sides", "same", *(["causal"] if causal else [])))
    if kind == "none":
        return 0
    if kind == "number":
        return per_axis(choices, axes, 0, 4)
    if kind == "sides":
        sides = tuple((choices.integer(0, 4), choices.integer(0, 4)) for _ in range(axes))
        return sides[0] if axes == 1 else sides
    return kind


def window(choices, axes, size, causal=False):
    """Draws {option: value} of a window whose size option is called `size`."""
    options = {size: per_axis(choices, axes, 1, 4 if choices.chance(0.2) else 3)}
    if choices.chance(0.4):
        options["stride"] = per_axis(choices, axes, 1, 3)
    if choices.chance(0.6):
        options["padding"] = padding(choices, axes, causal)
    if choices.chance(0.25):
        options["dilation"] = per_axis(choices, axes, 1, 3)
    return options


def axes_of(shape):
    return 1 if len(shape) == 2 else len(shape) - 1


def channels_of(shape):
    return shape[-1] if len(shape) == 2 else shape[0]


def divisor(choices, number):
    return choices.pick([d for d in range(1, number + 1) if number % d == 0])


def convolution(cls):
    """Draws a convolution of class `cls`, sometimes with groups."""

    def draw(choices, shape):
        axes, channels = axes_of(shape), channels_of(shape)
        options = window(
            choices, axes, "kernel_size", axes == 1 and "Transpose" not in cls.__name__
        )
        filters = choices.integer(1, 5)
        if hasattr(cls, "groups") and choices.chance(0.25):
            options["groups"] = groups = divisor(choices, channels)
            filters = groups * choices.integer(1, 2)
        if hasattr(cls, "output_padding") and choices.chance(0.2):
            options["output_padding"] = per_axis(choices, axes, 0, 2)
        return cls(filters=filters, **options, **options_of(choices, cls, options))

    return draw


def depthwise(cls):
    def draw(choices, shape):
        options = window(choices, axes_of(shape), "kernel_size", axes_of(shape) == 1)
        options["multiplier"] = choices.integer(1, 2)
        if "filters" in cls.__dataclass_fields__:
            options["filters"] = choices.integer(1, 4)
        return cls(**options, **options_of(choices, cls, options))

    return draw


def pool(cls):
    def draw(choices, shape):
        options = window(choices, axes_of(shape), "size")
        if choices.chance(0.3):
            options["rounding"] = "ceil"
        if hasattr(cls, "count_padding"):
            options["count_padding"] = choices.chance(0.4)
        if hasattr(cls, "p"):
            options["p"] = choices.pick((2.0, 1.0, 3.0, 2.5))
        return cls(**options)

    return draw


def unfold(choices, shape):
    return layers.Unfold2D(**window(choices, 2, "kernel_size"))


def pyramid(choices, shape):
    return layers.SpatialPyramidPool(
        height=choices.integer(1, 2), kind=choices.pick(("max", "avg"))
    )


def amounts(cls, most):
    """Draws a layer that adds or crops `amount` at the edges."""

    def draw(choices, shape):
        axes = axes_of(shape)
        kind = choices.integer(0, 2)
        if kind == 0:
            return cls(amount=choices.integer(0, most))
        if kind == 1 and axes > 1:
            return cls(amount=tuple(choices.integer(0, most) for _ in range(axes)))
        sides = tuple((choices.integer(0, most), choices.integer(0, most)) for _ in range(axes))
        return cls(amount=sides[0] if axes == 1 else sides)

    return draw


def upsampling(cls):
    def draw(choices, shape):
        options = {"size": per_axis(choices, axes_of(shape), 1, 3)}
        if hasattr(cls, "interpolation") and choices.chance(0.5):
            options["interpolation"] = "bilinear"
        return cls(**options)

    return draw


def blocks(cls):
    return lambda choices, shape: cls(block=choices.integer(1, 3))


def each(name, kinds):
    """Returns [(rank of an example, class)] of the 1D, 2D and 3D layers called `name`."""
    ranks = {1: 2, 2: 3, 3: 4}
    return [(ranks[axes], getattr(layers, name.format(axes))) for axes in kinds]


FAMILIES = [
    ("Conv{}D", (1, 2, 3), convolution),
    ("Conv{}DTranspose", (1, 2, 3), convolution),
    ("LocallyConnected{}D", (1, 2), convolution),
    ("DepthwiseConv{}D", (1, 2), depthwise),
    ("SeparableConv{}D", (1, 2), depthwise),
    ("MaxPool{}D", (1, 2, 3), pool),
    ("AvgPool{}D", (1, 2, 3), pool),
    ("LpPool{}D", (1, 2, 3), pool),
    ("StochasticPool{}D", (2,), pool),
    ("MaxPoolIndex{}D", (2,), pool),
    ("ZeroPadding{}D", (1, 2, 3), lambda cls: amounts(cls, 2)),
    ("Cropping{}D", (1, 2, 3), lambda cls: amounts(cls, 1)),
    ("UpSampling{}D", (1, 2, 3), upsampling),
]
DRAWN = {  # type: (accepted ranks of examples, function (choices, shape))
    cls.type_name: ((rank,), make(cls))
    for name, axes, make in FAMILIES
    for rank, cls in each(name, axes)
} | {
    "Unfold2D": ((3,), unfold),
    "SpatialPyramidPool": ((3,), pyramid),
    "SpaceToDepth": ((3,), blocks(layers.SpaceToDepth)),
    "DepthToSpace": ((3,), blocks(layers.DepthToSpace)),
}
