"""A call of an aten operation, and its arguments."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkdl.engine.dtypes import is_narrow, lowest
from sparkdl.errors import ShapeError, UnsupportedError
from sparkdl.interop.torch.aten.trained_arrays import TrainedArrays, is_frozen
from sparkdl.interop.torch.weights.layer_arrays import arrays_for
from sparkdl.interop.translated_network import free_name, need
from sparkdl.nn import layers as nn
from sparkdl.nn.activations import Power


@dataclass(frozen=True)
class Place:
    """The output of a vertex of the network.

    Parameters
    ----------
    name : str
        Of the vertex.
    shape : tuple of int
        Of one example.
    batched : bool
        Whether torch's tensor has a batch axis; results of parameters alone have none.
    """

    name: str
    shape: tuple[int, ...]
    batched: bool = True


def named_arguments(call, args, kwargs):
    """Returns {name of the schema: value} of arguments for a call of a graph, with defaults."""
    schema = call.target._schema.arguments
    defaults = {a.name: a.default_value for a in schema if a.has_default_value()}
    return defaults | dict(zip((a.name for a in schema), args, strict=False)) | kwargs


def module_paths(call):
    """Returns the paths of the modules that make a call of a graph, from the outermost on."""
    return [path for path, _ in call.meta.get("nn_module_stack", {}).values()]


class AtenNode:
    """One call of a graph.

    Parameters
    ----------
    arguments : {name of the schema: value}
        A Place if computed, a tensor if constant, else a plain value.
    shape : tuple of int, or None
        Of one example of the result.
    module : str
        Path of the calling module; layers are named by it.
    network : NetworkParts
    size : int
        Of the batch that the graph was exported with.
    kinds : {name of the schema, or "result": type of its numbers}
        Of the tensors.
    """

    def __init__(self, arguments, shape, module, network, size, kinds):
        self.arguments, self.shape, self.module = arguments, shape, module
        self.network, self.size, self.kinds = network, size, kinds

    def __getitem__(self, name: str) -> Any:
        return self.arguments.get(name)

    def place(self, name="input"):
        """Returns the Place of an argument, which must be computed."""
        value = self[name]
        self.need(isinstance(value, Place), f"{name} that is constant")
        return value

    def tensor(self, name):
        """Returns an argument that must be constant; None if it is omitted.

        It is the module's own tensor, since shared parameters are recognized by their storage.
        """
        value = self[name]
        if isinstance(value, Place) and not value.batched:
            raise UnsupportedError(
                f"{name} that is computed from parameters is not supported; if they need not be "
                "trained, call requires_grad_(False) first"
            )
        self.need(value is None or hasattr(value, "detach"), f"{name} that is computed")
        return value

    def axis(self, value):
        """Returns the axis in an example for an axis of the tensor `input`."""
        rank = len(self.place().shape) + 1
        axis = value + rank if value < 0 else value
        self.need(axis > 0, f"axis {value}, that of the batch,")
        return axis - 1

    def add(self, layer, *places, **arrays):
        """Adds a layer that reads these Places and has these torch tensors; returns its Place.

        Tensors that torch does not train are frozen.
        """
        return self.network.add(layer, places, self.module, arrays)

    need = staticmethod(need)


class NetworkParts:
    """The layers of a network and their weights so far.

    Parameters
    ----------
    build : GraphBuilder
    parameters : iterable of (name, tensor)
    dtype : str
        Of the network.
    """

    def __init__(self, build, parameters, dtype="float32"):
        self.build, self.weights, self.trained = build, {}, TrainedArrays(parameters)
        self.dtype = dtype

    def add(self, layer, places, module, arrays):
        """Adds a layer with {torch's name: tensor, array or None}; returns its Place."""
        arrays = {name: array for name, array in arrays.items() if array is not None}
        shapes = tuple(place.shape for place in places)
        shape = shapes if layer.multi_input else shapes[0]
        if layer.takes_rows and len(shape) > 2:
            raise UnsupportedError(f"a product of examples of shape {shape} is not supported")
        self.check_range(layer, arrays)
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

    def check_range(self, layer, arrays):
        """Raises UnsupportedError for a number that is infinite in a 16-bit dtype."""
        if not is_narrow(self.dtype):
            return
        function, limit = getattr(layer, "function", None), -lowest(self.dtype)
        names = ("scale", "shift") if isinstance(function, Power) else ()
        given = [getattr(function, name) for name in names]
        for values in [*given, *map(as_array, arrays.values())]:
            beyond = np.abs(values).max(initial=0)
            if beyond > limit:
                raise UnsupportedError(
                    f"a number of size {beyond:.3g} in {self.dtype}, whose largest is "
                    f"{limit:.3g}, is not supported"
                )


def as_array(value):
    """Returns a tensor or a number as an array of floats."""
    return value.detach().float().numpy() if hasattr(value, "detach") else np.float32(value)
