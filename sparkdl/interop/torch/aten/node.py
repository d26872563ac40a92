"""A call of an aten operation, with what is known of its arguments."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.torch.aten.trained_arrays import TrainedArrays, is_frozen
from sparkdl.interop.torch.weights.layer_arrays import arrays_for
from sparkdl.interop.translated_network import free_name
from sparkdl.nn import layers as nn


@dataclass(frozen=True)
class Place:
    """What a vertex of the network gives.

    Parameters
    ----------
    name : str
        Of the vertex.
    shape : tuple of int
        Of one example.
    batched : bool
        Whether torch's tensor has the axis of the batch; what is made of parameters alone has not.
    """

    name: str
    shape: tuple[int, ...]
    batched: bool = True


class AtenNode:
    """One call of a graph.

    Parameters
    ----------
    arguments : {name of the schema: value}
        A Place where it is computed, a tensor where it is constant, else a plain value.
    shape : tuple of int, or None
        Of one example of the result.
    module : str
        Path of the module that calls it; its layers have this name.
    network : NetworkParts
    size : int
        Of the batch that the graph was exported with.
    """

    def __init__(self, arguments, shape, module, network, size):
        self.arguments, self.shape, self.module = arguments, shape, module
        self.network, self.size = network, size

    def __getitem__(self, name: str) -> Any:
        return self.arguments.get(name)

    def place(self, name="input"):
        """Returns the Place of an argument that must be computed."""
        value = self[name]
        self.need(isinstance(value, Place), f"{name} that is constant")
        return value

    def tensor(self, name):
        """Returns an argument that must be constant; None where it is left out.

        It is the tensor of the module itself: what is shared is found by its storage.
        """
        value = self[name]
        if isinstance(value, Place) and not value.batched:
            raise UnsupportedError(
                f"{name} that is computed from parameters is not supported; where they need not "
                "train, requires_grad_(False) before"
            )
        self.need(value is None or hasattr(value, "detach"), f"{name} that is computed")
        return value

    def axis(self, value):
        """Returns an axis of one example, for one of the tensor `input`."""
        rank = len(self.place().shape) + 1
        axis = value + rank if value < 0 else value
        self.need(axis > 0, f"axis {value}, that of the batch,")
        return axis - 1

    def add(self, layer, *places, **arrays):
        """Adds a layer that reads these Places, with torch's tensors; returns its own.

        What torch does not train of them is frozen.
        """
        return self.network.add(layer, places, self.module, arrays)

    def need(self, holds, what):
        """Refuses the call because of `what` unless `holds`."""
        if not holds:
            raise UnsupportedError(f"{what} is not supported")


class NetworkParts:
    """The layers of a network and their weights so far; `parameters` are (name, tensor) each."""

    def __init__(self, build, parameters):
        self.build, self.weights, self.trained = build, {}, TrainedArrays(parameters)

    def add(self, layer, places, module, arrays):
        """Adds a layer with {name of torch: tensor, array or None}; returns its Place."""
        arrays = {name: array for name, array in arrays.items() if array is not None}
        shapes = tuple(place.shape for place in places)
        shape = shapes if layer.multi_input else shapes[0]
        if layer.takes_rows and len(shape) > 2:
            raise UnsupportedError(f"a product of examples of shape {shape} is not supported")
        taken = {*self.build.inputs, *(vertex.name for vertex in self.build.vertices)}
        automatic = f"{type(layer).__name__.lower()}_1"
        name = free_name(module if arrays and module else automatic, taken)
        if is_frozen(arrays) and not isinstance(layer, nn.Frozen):
            layer = nn.Frozen(layer=layer)
        shares = self.trained.take(name, layer, arrays)
        self.build.add(layer, *(place.name for place in places), name=name, shares=shares)
        wanted = layer.param_shapes(shape) | layer.buffer_shapes(shape)
        given = arrays_for(layer, wanted, {name: as_array(one) for name, one in arrays.items()})
        found = {kind: array.shape for kind, array in given.items()}
        if found != wanted:
            raise ShapeError(f"weights must have the shapes {wanted}, got {found}")
        if shares is None:
            self.weights |= {f"{name}/{kind}": array for kind, array in given.items()}
        return Place(name, tuple(layer.out_shape(shape)))


def as_array(value):
    """Returns a tensor or a number as an array of floats."""
    return value.detach().float().numpy() if hasattr(value, "detach") else np.float32(value)
