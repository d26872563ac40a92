"""Arrangement of the layers of a NetworkConf: names, required Flattens, shapes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparkdl.errors import ConfigError
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers import Flatten, ScoredLayer
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.networks.placement import PlacedLayer, check_unique, shape_after

INPUT = "features"


def arrange_layers(layers: Sequence[Layer], input_shape: Shape) -> tuple[Layer, ...]:
    """Names all layers and inserts a Flatten before layers that take rows of images.

    Raises
    ------
    ConfigError
        Unless only the last layer is an output, no layer joins inputs, and names are unique.
    ShapeError
        If a layer does not accept the output of the one before it; names both, and the shape.
    """
    check_kinds(layers)
    result: list[Layer] = []
    shape: Shape = input_shape
    before: str | None = "the input"
    for layer in layers:
        for part in ([Flatten()] if layer.takes_rows and len(shape) > 2 else []) + [layer]:
            part = part if part.name else replace(part, name=automatic_name(part, result))
            shape, before = shape_after(part, shape, before), part.name
            result.append(part)
    check_unique([layer.name for layer in result], "layer names")
    return tuple(result)


def automatic_name(layer: Layer, before: Sequence[Layer]) -> str:
    """Returns a name like "dense_2" for the second Dense, whatever the first is called."""
    number = 1 + sum(type(other) is type(layer) for other in before)
    return f"{layer.type_name.lower()}_{number}"


def without_automatic_names(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    """Returns the dicts of `layers`, without names that would be regenerated."""
    automatic = [automatic_name(layer, layers[:i]) for i, layer in enumerate(layers)]
    plain = [replace(x, name=None) if x.name == a else x for x, a in zip(layers, automatic)]
    return [layer.to_dict() for layer in plain]


def check_kinds(layers: Sequence[Layer]) -> None:
    """Raises ConfigError unless only the last layer is an output and none joins inputs."""
    kinds = [type(layer).__name__ for layer in layers]
    if not layers or not isinstance(layers[-1], ScoredLayer):
        raise ConfigError(f"NetworkConf.layers must end with an Output, got {kinds}")
    joining = [type(layer).__name__ for layer in layers if layer.multi_input]
    if joining:
        raise ConfigError(
            f"NetworkConf.layers must follow one another, got {joining[0]}, which joins several; "
            "use a GraphConf"
        )
    if any(isinstance(layer, ScoredLayer) for layer in layers[:-1]):
        raise ConfigError(f"NetworkConf.layers must have one Output, the last layer, got {kinds}")


def place_layers(network: Any) -> "tuple[PlacedLayer, ...]":
    """Returns the placed layers of a NetworkConf."""
    result, shape, before = [], network.input_shape, INPUT
    for index, layer in enumerate(network.layers):
        layer = layer.inherit(network)
        after = layer.out_shape(shape)
        result.append(PlacedLayer(index, layer, (before,), shape, after, layer.name))
        shape, before = after, layer.name
    return tuple(result)
