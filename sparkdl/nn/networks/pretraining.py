"""Unsupervised pretraining of one layer of a network."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from sparkdl.config import suggestion
from sparkdl.errors import ConfigError
from sparkdl.nn.layers import Frozen, Reconstruction
from sparkdl.nn.layers.unsupervised.base import UnsupervisedLayer
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.graph import GraphConf, Vertex

if TYPE_CHECKING:
    from sparkdl.nn.networks.placement import PlacedLayer


def unsupervised_layers(conf: "Conf") -> list[str]:
    """Returns the names of the layers that learn without labels, each after what it reads."""
    return [place.name for place in conf.stack if isinstance(place.layer, UnsupervisedLayer)]


def pretraining(conf: "Conf", name: str) -> GraphConf:
    """Returns the network that trains the layer `name` of `conf` to reconstruct its input.

    It is the graph of the layers that lead there, in inference mode with fixed weights, plus the
    layer itself, whose loss is used. Parameters and buffers keep their names in `conf`.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    name : str
        The name of an AutoEncoder, VariationalAutoencoder or another UnsupervisedLayer.

    Raises
    ------
    ConfigError
        If there is no such layer.
    """
    known = unsupervised_layers(conf)
    if name not in known:
        raise ConfigError(
            f"no layer {name!r} learns without labels{suggestion(name, known, '')}: {known}"
        )
    needed = ancestors(conf, name)
    vertices = [vertex(place, name) for place in conf.stack if place.name in needed]
    inputs = {n: shape for n, shape in conf.input_shapes.items() if n in needed}
    options = {item.name: getattr(conf, item.name) for item in fields(Conf)}
    return GraphConf(inputs=inputs, vertices=vertices, **options)


def ancestors(conf: "Conf", name: str) -> set[str]:
    """Returns the names of the layer, of all it depends on, and of their parameters' owners."""
    needed = {name}
    for place in reversed(conf.stack):
        needed |= {*place.sources, place.owner} if place.name in needed else set()
    return needed


def vertex(place: "PlacedLayer", name: str) -> Vertex:
    """Returns the vertex of a layer in the network that trains the layer `name`."""
    bare = replace(place.layer, name=None)
    layer = Reconstruction(layer=bare) if place.name == name else Frozen(layer=bare)
    shares = None if place.owner == place.name else place.owner
    return Vertex(name=place.name, layer=layer, inputs=place.sources, shares=shares)
