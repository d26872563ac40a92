"""Sharing of parameters between layers by their names."""

from typing import NamedTuple

from sparkdl.errors import UnsupportedError
from sparkdl.interop.caffe.checkpoints.blob_orders import orders_of


class Parameter(NamedTuple):
    """A named parameter: its vertex, its position there, and the array orders of the layer."""

    vertex: str
    place: int
    orders: dict  # {array: BlobOrder} of the layer


class SharedParameters:
    """The named parameters of the layers so far."""

    def __init__(self):
        self._first = {}  # {name: Parameter}

    def owner(self, specs, layer, new_layer, in_shape, vertex):
        """Returns the vertex whose arrays a layer shares, the first that named them; None: its own.

        Parameters
        ----------
        specs : ParamSpecs of its parameters; None: those of `layer`
        layer : LayerParameter
        new_layer, in_shape : the sparkdl layer, and its input shape
        vertex : name of the vertex that the layer becomes

        Raises
        ------
        UnsupportedError
            Unless all parameters of one layer are shared, each at the same position.
        """
        arrays = new_layer.param_shapes(in_shape) | new_layer.buffer_shapes(in_shape)
        specs = layer.param[: len(arrays)] if specs is None else specs
        names = {place: spec.name for place, spec in enumerate(specs) if spec.name}
        if not names or not arrays:
            return None
        check_once(list(names.values()))
        orders = orders_of(new_layer, arrays, layer)
        shared = {
            place: self._first.setdefault(name, Parameter(vertex, place, orders))
            for place, name in names.items()
        }
        owners = {one.vertex for one in shared.values()}
        owner = owners.pop()
        partial = len(names) < max(len(specs), len(arrays))
        if owners or (owner != vertex and partial):
            raise UnsupportedError(
                "all parameters of a layer must be shared with one other, "
                f"got {list(names.values())}; name all of them or none"
            )
        for place, one in shared.items():
            check_place(names[place], place, one)
            check_orders(names[place], orders, one)
        return None if owner == vertex else owner

    def is_turned(self, layer, new_layer):
        """Returns whether a Dense needs the transpose of the weights that it shares by name.

        Parameters
        ----------
        layer : LayerParameter
        new_layer : Dense
        """
        first = self._first.get(layer.param[0].name) if layer.param else None
        own = orders_of(new_layer, {"W": ()}, layer)["W"]
        return first is not None and first.place == 0 and first.orders.get("W", own) is not own


def check_once(names):
    """Raises UnsupportedError if a layer names two parameters alike."""
    for name in names:
        if names.count(name) > 1:
            raise UnsupportedError(
                f"param.name must be different for each parameter of a layer, got {name!r} "
                f"{names.count(name)} times"
            )


def check_place(name, place, first):
    """Raises UnsupportedError if a parameter's position differs from that in its owner."""
    if place != first.place:
        raise UnsupportedError(
            f"param.name {name!r} must be at place {first.place} as in {first.vertex}, which "
            f"shares it, got place {place}"
        )


def check_orders(name, orders, first):
    """Raises UnsupportedError if the owner reads the blob's numbers in a different order."""
    if list(orders.items()) != list(first.orders.items()):
        raise UnsupportedError(
            f"param.name {name!r} must be shared with a layer that reads its blob in the same "
            f"order, got {first.vertex}, as of an Embed behind an InnerProduct; "
            "give each its own name: they start equal from a .caffemodel, but are trained "
            "separately"
        )
