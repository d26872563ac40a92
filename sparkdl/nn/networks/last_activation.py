"""Removal of a network's last activation function when the loss applies it itself."""

from collections.abc import Iterable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.nn.activations import ActivationFunction, Softmax
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers import Activation, Layer, TimeDistributed, Wrapper
from sparkdl.nn.layers.core.channels import channel_axis
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.networks.base import Conf
from sparkdl.nn.networks.graph import Vertex
from sparkdl.nn.networks.placement import PlacedLayer


def ends_in(conf: Conf, name: str, held: type[ActivationFunction]) -> bool:
    """Returns whether the numbers of a layer come from an activation function of this kind.

    Later layers may rearrange them, or change them in training only.
    """
    places = places_of(conf)
    source = names_back(places, name)[-1]
    return source in places and last_function(places[source].layer) == held()


def without_activation(
    vertices: list[Vertex],
    conf: Conf,
    name: str,
    held: type[ActivationFunction],
    outputs: Iterable[str] = (),
) -> str:
    """Removes the activation function that a vertex ends in; returns the name to read instead.

    Parameters
    ----------
    vertices : list of Vertex
        The vertex with the function is replaced or deleted; those after it stay.
    conf : GraphConf
        The network of these vertices.
    outputs : iterable of str
        Names that are also read, for prediction.

    Raises
    ------
    UnsupportedError
        If other vertices read or share it, the vertex ends in something else, or its softmax is
        over another axis than that of the loss.
    """
    places, wanted = places_of(conf), held.__name__.lower()
    *behind, source = names_back(places, name)
    own = {*behind, source}
    read = {*outputs}.union(*((*v.inputs, v.shares) for v in vertices if v.name not in own))
    refusal = UnsupportedError(f"its loss needs an output of {wanted} that nothing else reads")
    if not ends_in(conf, name, held):
        raise refusal
    if held is Softmax:
        check_axis(*(places[one] for one in (source, *reversed(behind))))
    at, vertex = next((i, v) for i, v in enumerate(vertices) if v.name == source)
    if isinstance(vertex.layer, Activation) and not behind:
        if not own & read:
            del vertices[at]
        return vertex.inputs[0]
    if own & read or vertex.shares:
        raise refusal
    vertices[at] = replace(vertex, layer=bare_layer(vertex.layer))
    return name


def places_of(conf: Conf) -> dict[str, PlacedLayer]:
    """Returns the placed layers by name."""
    return {place.name: place for place in conf.stack}


def names_back(places: dict[str, PlacedLayer], name: str) -> list[str]:
    """Returns the names from `name` back to the layer or input that computes its numbers."""
    names = [name]
    while (place := places.get(names[-1])) and place.layer.keeps_numbers:
        names.append(place.sources[0])
    return names


def last_function(layer: Any) -> ActivationFunction | None:
    """Returns the activation function that a layer applies last, or None."""
    if isinstance(layer, Wrapper):
        return last_function(layer.layer)
    if isinstance(layer, Activation):
        return layer.function
    return layer.activation if layer.ends_in_activation else None


def bare_layer(layer: Any) -> Layer:
    """Returns a layer without its last activation function."""
    if isinstance(layer, Wrapper):
        return replace(layer, layer=bare_layer(layer.layer))
    option = "function" if isinstance(layer, Activation) else "activation"
    return replace(layer, **{option: "identity"})


def check_axis(place: PlacedLayer, *behind: PlacedLayer) -> None:
    """Raises UnsupportedError if softmax and a later loss normalize over different numbers."""
    joined: Any = joined_by_softmax(place.layer, place.out_shape)[None]
    units = joined.size // (int(joined.max()) + 1)
    for one in behind:
        joined = one.layer.forward({}, joined, Run(training=False, seed=0))
    end, shape = (place, *behind)[-1], joined.shape[1:]
    rows = np.moveaxis(joined[0], channel_axis(shape), -1)
    if rows.shape[-1] != units or np.ptp(rows, -1).any():
        raise UnsupportedError(
            f"its loss takes softmax over {rows.shape[-1]} units of {end.name} {shape}, where "
            f"{place.name} has taken it over {units} others, of {place.out_shape}; give the loss "
            "another layer to read, or one that does not apply softmax"
        )


def joined_by_softmax(layer: Layer, shape: Shape) -> np.ndarray:
    """Returns an array like an output of `layer`, with one number per softmax group, from 0."""
    if isinstance(layer, TimeDistributed):
        inside = joined_by_softmax(layer.layer, shape[1:])
        return np.stack([inside + step * (inside.max() + 1) for step in range(shape[0])])
    if isinstance(layer, Wrapper):
        return joined_by_softmax(layer.layer, shape)
    axis = channel_axis(shape)
    others = (*shape[:axis], 1, *shape[axis + 1 :])
    return np.broadcast_to(np.arange(float(prod(others))).reshape(others), shape)
