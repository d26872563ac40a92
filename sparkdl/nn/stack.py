"""How the layers of a network follow each other: names, the Flatten between, the shapes."""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.layers import Flatten, Layer, Output


class Placed(NamedTuple):
    """A layer in its place: with the network's choices filled in, and its shapes."""

    index: int
    layer: Layer
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]

    @property
    def name(self):
        return self.layer.name

    @property
    def is_output(self):
        return isinstance(self.layer, Output)

    @property
    def param_shapes(self):
        return self.layer.param_shapes(self.in_shape)

    @property
    def buffer_shapes(self):
        return self.layer.buffer_shapes(self.in_shape)


def arranged(layers, input_shape):
    """`layers` with Flatten where images meet rows, and each with a name.

    Raises
    ------
    ConfigError
        Unless the last layer, and only it, is an Output, and names are unique.
    ShapeError
        If a layer cannot take what the one before it gives; says which, and both shapes.
    """
    check_output(layers)
    result, shape, before = [], input_shape, "the input"
    for layer in layers:
        for part in ([Flatten()] if layer.takes_rows and len(shape) > 1 else []) + [layer]:
            part = part if part.name else replace(part, name=automatic_name(part, result))
            shape, before = shape_after(part, shape, before), part.name
            result.append(part)
    check_names(result)
    return tuple(result)


def automatic_name(layer, before):
    """ "dense_2" for the second Dense, whatever the first is called."""
    number = 1 + sum(type(other) is type(layer) for other in before)
    return f"{layer.type_name.lower()}_{number}"


def without_automatic_names(layers):
    """The dicts of `layers`, with only those names that would not come back by themselves."""
    automatic = [automatic_name(layer, layers[:i]) for i, layer in enumerate(layers)]
    plain = [replace(x, name=None) if x.name == a else x for x, a in zip(layers, automatic)]
    return [layer.to_dict() for layer in plain]


def shape_after(layer, shape, before):
    """The output shape of `layer`, or an error that names it and the layer before."""
    try:
        return layer.out_shape(shape)
    except ShapeError as error:
        raise ShapeError(f"{layer.name} cannot follow {before} {shape}: {error}") from error


def check_output(layers):
    """The last layer is an Output, and no other is."""
    kinds = [type(layer).__name__ for layer in layers]
    if not layers or not isinstance(layers[-1], Output):
        raise ConfigError(f"NetworkConf.layers must end with an Output, got {kinds}")
    if any(isinstance(layer, Output) for layer in layers[:-1]):
        raise ConfigError(f"NetworkConf.layers must have one Output, the last layer, got {kinds}")


def check_names(layers):
    """No two layers have the same name."""
    for one, two in pairwise(sorted(layer.name for layer in layers)):
        if one == two:
            raise ConfigError(f"layer names must be unique, got {one!r} twice")


def placed(network):
    """The layers of a NetworkConf in their places."""
    result, shape = [], network.input_shape
    for index, layer in enumerate(network.layers):
        after = layer.out_shape(shape)
        result.append(Placed(index, layer.inherit(network), shape, after))
        shape = after
    return tuple(result)
