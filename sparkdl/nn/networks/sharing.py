"""Checks of layers that share the parameters of another one."""

from dataclasses import fields
from typing import TYPE_CHECKING

from sparkdl.errors import ConfigError
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.weights import WeightedLayer
from sparkdl.nn.layers.wrappers.frozen import Frozen

if TYPE_CHECKING:
    from sparkdl.nn.networks.graph import GraphConf
    from sparkdl.nn.networks.placement import PlacedLayer

PENALTIES = {"l1", "l2", "bias_l1", "bias_l2"}
OF_TRAINING = PENALTIES | {item.name for item in fields(TrainableLayer)} - {"name"}
DEFAULTS = {item.name: item.default for item in fields(WeightedLayer) if item.name in OF_TRAINING}


def check_shared(places: "dict[str, PlacedLayer]") -> None:
    """Raises ConfigError unless shared parameters fit the layers that share them."""
    for place in places.values():
        owner = places.get(place.owner)
        if owner is None or owner.owner != owner.name:
            raise ConfigError(f"{place.name} must share with a vertex that has its own parameters")
        needed = place.layer.param_shapes(place.in_shape), place.layer.buffer_shapes(place.in_shape)
        if needed != (owner.param_shapes, owner.buffer_shapes):
            raise ConfigError(
                f"{place.name} cannot share {owner.param_shapes} of {owner.name}, "
                f"it needs {needed[0]}"
            )


def check_training_options(graph: "GraphConf") -> None:
    """Raises ConfigError for a vertex with options of training that its owner does not have.

    The owner's options train the shared parameters, so others would have no effect. Frozen layers
    may share either way: one that is not the owner stops the gradients of its own tower.
    """
    layers = {vertex.name: vertex.layer for vertex in graph.vertices}
    for vertex in graph.vertices:
        owner = layers.get(vertex.shares or "")
        if owner is None or isinstance(owner, Frozen) or isinstance(vertex.layer, Frozen):
            continue
        for name, default in DEFAULTS.items():
            own = getattr(vertex.layer, name, default)
            wanted = getattr(owner, name, default)
            if own not in (default, wanted):
                raise ConfigError(
                    f"{vertex.name}.{name} must be that of {vertex.shares!r}, whose parameters it "
                    f"shares ({wanted}), got {own}; give it to {vertex.shares!r} alone"
                )
