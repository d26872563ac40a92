"""A call of an aten operation, with what is known of its arguments."""

from dataclasses import dataclass
from typing import Any

from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.torch.weights.layer_arrays import arrays_for
from sparkdl.interop.translated_network import free_name


@dataclass(frozen=True)
class Place:
    """What a vertex of the network gives: its name, and the shape of one example."""

    name: str
    shape: tuple[int, ...]


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

    def array(self, name):
        """Returns an argument that must be constant, as an array; None where it is left out."""
        value = self[name]
        self.need(value is None or hasattr(value, "detach"), f"{name} that is computed")
        return None if value is None else value.detach().float().numpy()

    def axis(self, value):
        """Returns an axis of one example, for one of the tensor `input`."""
        rank = len(self.place().shape) + 1
        axis = value + rank if value < 0 else value
        self.need(axis > 0, f"axis {value}, that of the batch,")
        return axis - 1

    def add(self, layer, *places, **arrays):
        """Adds a layer that reads these Places, with torch's arrays; returns its own."""
        return self.network.add(layer, places, self.module, arrays)

    def need(self, holds, what):
        """Refuses the call because of `what` unless `holds`."""
        if not holds:
            raise UnsupportedError(f"{what} is not supported")


class NetworkParts:
    """The layers of a network and their weights so far."""

    def __init__(self, build):
        self.build, self.weights = build, {}

    def add(self, layer, places, module, arrays):
        shapes = tuple(place.shape for place in places)
        shape = shapes if layer.multi_input else shapes[0]
        if layer.takes_rows and len(shape) > 2:
            raise UnsupportedError(f"a product of examples of shape {shape} is not supported")
        taken = {*self.build.inputs, *(vertex.name for vertex in self.build.vertices)}
        automatic = f"{type(layer).__name__.lower()}_1"
        name = free_name(module if arrays and module else automatic, taken)
        self.build.add(layer, *(place.name for place in places), name=name)
        wanted = layer.param_shapes(shape) | layer.buffer_shapes(shape)
        given = arrays_for(layer, wanted, {n: a for n, a in arrays.items() if a is not None})
        found = {kind: array.shape for kind, array in given.items()}
        if found != wanted:
            raise ShapeError(f"weights must have the shapes {wanted}, got {found}")
        self.weights |= {f"{name}/{kind}": array for kind, array in given.items()}
        return Place(name, tuple(layer.out_shape(shape)))
