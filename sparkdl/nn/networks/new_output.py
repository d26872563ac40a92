"""The configuration of a network with a replaced output layer."""

from dataclasses import fields, replace
from typing import Any

from sparkdl.config import suggestion
from sparkdl.errors import ConfigError
from sparkdl.nn.activations import ActivationFunction, Exp, Sigmoid, Softmax
from sparkdl.nn.layers import Layer, LossLayer, ScoredLayer
from sparkdl.nn.losses import (
    Infogain,
    KlDivergence,
    Loss,
    Poisson,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
)
from sparkdl.nn.losses.dice import Overlap
from sparkdl.nn.networks.base import LAYOUT, Conf
from sparkdl.nn.networks.graph import GraphConf, Vertex
from sparkdl.nn.networks.last_activation import ends_in, without_activation
from sparkdl.nn.networks.layer_sequence import INPUT, automatic_name

APPLIED: dict[type[Loss], type[ActivationFunction]] = {
    SoftmaxCrossEntropy: Softmax,
    KlDivergence: Softmax,
    Infogain: Softmax,
    SigmoidCrossEntropy: Sigmoid,
    Poisson: Exp,
}  # by the loss itself, which reads the numbers before it


def conf_with_output(
    conf: Conf, layer: Layer, after: str | None = None, **options: Any
) -> GraphConf:
    """Returns the GraphConf of all that `after` needs, plus an output layer that reads it.

    See `replace_output`, which also copies the weights.
    """
    if not isinstance(layer, ScoredLayer):
        kind = type(layer).__name__
        raise ConfigError(f"replace_output.layer must be an output layer, got {kind}; give Output")
    own = [name for name in LAYOUT if name in options]
    if own:
        raise ConfigError(f"replace_output.{own[0]} must be left out: it is that of the network")
    vertices = vertices_of(conf)
    last = name_to_keep(vertices, layer, after)
    kept = needed_by(last, vertices)
    given = {item.name: getattr(conf, item.name) for item in fields(Conf)} | options
    last = without_applied(kept, conf_of(conf, kept, last, layer, given), last, layer)
    return conf_of(conf, kept, last, layer, given)


def without_applied(vertices: list[Vertex], conf: Conf, name: str, layer: Layer) -> str:
    """Removes the activation function of vertex `name` if `layer`'s loss applies it itself.

    Returns the name for the layer to read; see `without_activation`.
    """
    loss: Any = getattr(layer, "loss", None)
    applied = applied_by(loss) if isinstance(layer, LossLayer) else None
    if applied is None or not ends_in(conf, name, applied):
        return name
    return without_activation(vertices, conf, name, applied)


def applied_by(loss: Loss) -> type[ActivationFunction] | None:
    """Returns the activation function that a loss applies itself, or None."""
    if isinstance(loss, Overlap):
        return Sigmoid if loss.labels == "masks" else Softmax
    return APPLIED.get(type(loss))


def conf_of(
    conf: Conf, kept: list[Vertex], last: str, layer: Layer, options: dict[str, Any]
) -> GraphConf:
    """Returns the GraphConf of the `kept` vertices plus an output layer that reads `last`."""
    name = layer.name or automatic_name(layer, [vertex.layer for vertex in kept])
    read = {source for vertex in kept for source in vertex.inputs} | {last}
    bags = [bag for bag in conf.bags if bag.name in read]
    shapes = {k: s for k, s in conf.input_shapes.items() if k in read - {b.name for b in bags}}
    vertices = [*kept, Vertex(name=name, layer=layer, inputs=(last,))]
    return GraphConf(inputs=shapes, vertices=vertices, bags=bags, **options)


def vertices_of(conf: Any) -> list[Vertex]:
    """Returns the layers of a NetworkConf or GraphConf as vertices."""
    if isinstance(conf, GraphConf):
        return list(conf.vertices)
    names = [INPUT, *(layer.name for layer in conf.layers)]
    pairs = zip(conf.layers, names)
    return [Vertex(name=layer.name, layer=layer, inputs=(before,)) for layer, before in pairs]


def name_to_keep(vertices: list[Vertex], layer: Layer, after: str | None) -> str:
    """Returns the name of the layer for the new output to read; see `replace_output`."""
    ends = [v.name for v in vertices if isinstance(v.layer, ScoredLayer)]
    names = [vertex.name for vertex in vertices if vertex.name not in ends]
    if after is None and len(ends) == 1:
        sources = next(vertex.inputs for vertex in vertices if vertex.name == ends[0])
        after = sources[0] if len(sources) == 1 else None
    elif after is None and not ends and isinstance(layer, LossLayer):
        read = {source for vertex in vertices for source in vertex.inputs}
        unread = [name for name in names if name not in read]
        after = unread[0] if len(unread) == 1 else None
    if after not in names:
        listed = f"; give one of {', '.join(names)}" if names else "; there is no layer but outputs"
        cure = suggestion(after, names, "") or listed
        raise ConfigError(f"replace_output.after must name a layer to keep, got {after!r}{cure}")
    return after


def needed_by(name: str, vertices: list[Vertex]) -> list[Vertex]:
    """Returns the named vertex and all it is computed from, in the original order.

    If only the parameters of a layer are needed, the first layer that shares them becomes the
    owner.
    """
    by_name = {vertex.name: vertex for vertex in vertices}
    kept = [by_name[one] for one in by_name if one in names_before(name, by_name, False)]
    heirs: dict[str, str] = {}
    for vertex in kept:
        owner = by_name.get(vertex.shares or "")
        if owner is None or owner in kept:
            continue
        if replace(vertex.layer, name=owner.name) != owner.layer:
            return [by_name[one] for one in by_name if one in names_before(name, by_name, True)]
        heirs.setdefault(owner.name, vertex.name)
    return [of_heir(vertex, heirs) for vertex in kept]


def names_before(name: str, by_name: dict[str, Vertex], shared: bool) -> set[str]:
    """Returns the names of all vertices that one is computed from, parameter owners if `shared`."""
    waiting, found = [name], set()
    while waiting:
        vertex = by_name.get(waiting.pop())  # None for inputs
        if vertex is not None and vertex.name not in found:
            found.add(vertex.name)
            waiting += [*vertex.inputs, *([vertex.shares] if vertex.shares and shared else [])]
    return found


def of_heir(vertex: Vertex, heirs: dict[str, str]) -> Vertex:
    """Makes a vertex share with the heir of its former owner, or own the parameters as the heir."""
    heir = heirs.get(vertex.shares or "")
    if heir is None:
        return vertex
    return replace(vertex, shares=None if heir == vertex.name else heir)
