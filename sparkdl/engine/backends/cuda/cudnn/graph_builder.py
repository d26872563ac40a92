"""A graph of cuDNN's under construction: arrays by name, with their memory layouts."""

from dataclasses import dataclass, fields
from math import prod
from typing import ClassVar

from sparkdl.engine.graph import Spec
from sparkdl.errors import UnsupportedError

TYPES = {"bfloat16": "BFLOAT16", "float16": "HALF", "float32": "FLOAT"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for a graph of cuDNN's; its repr is part of the key of its plan on disk.

    The fields of a subclass that are Specs are the arrays, None for those left out; the graph reads
    the arrays named in `read` and writes the others. `draw` constructs the graph; `numbers` are
    floats passed to the graph when it runs, `doubles` arrays that it reads twice.
    """

    read: ClassVar[tuple[str, ...]]
    slow: ClassVar = False  # whether building compiles each engine, which takes half a second

    @property
    def arrays(self):
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v for name, v in values.items() if isinstance(v, Spec)}

    @property
    def numbers(self):
        return {}

    @property
    def doubles(self):
        """Returns {another name of an array that is read twice: its name}.

        cuDNN 9.19 refuses, at run time, graphs that read one tensor in two places.
        """
        return {}

    def to_graph_shape(self, name, array):
        """Returns an array of a program in the shape that the graph has for it."""
        shape = self.arrays[name].shape
        return array if array.shape == shape else array.reshape(shape)

    def strides(self, name):
        """Returns the strides of an array, in numbers."""
        return strides(self.arrays[name].shape)

    @property
    def kind(self):
        """The type of the large arrays."""
        return next(iter(self.arrays.values())).dtype

    def draw(self, drawing):
        raise NotImplementedError


class Drawing:
    """The graph of a request.

    Parameters
    ----------
    library : module cudnn
    graph : its pygraph
    """

    def __init__(self, library, graph, request):
        self.library, self.graph, self.request = library, graph, request
        names = *request.arrays, *request.numbers, *request.doubles
        self.uids = {n: i for i, n in enumerate(names, 1)}

    def type(self, name):
        if name not in TYPES:
            raise UnsupportedError(f"there are no graphs of {name}")
        return getattr(self.library.data_type, TYPES[name])

    def read(self, name):
        """Returns an array that the graph reads."""
        array = self.request.doubles.get(name, name)
        spec = self.request.arrays[array]
        return self.graph.tensor(
            name=name,
            uid=self.uids[name],
            dim=list(spec.shape),
            stride=self.request.strides(array),
            data_type=self.type(spec.dtype),
        )

    def number(self, name):
        """Returns a host float that the graph reads when it is queued on a stream."""
        ones = [1] * len(next(iter(self.request.arrays.values())).shape)
        return self.graph.tensor(
            name=name,
            uid=self.uids[name],
            dim=ones,
            stride=ones,
            data_type=self.type("float32"),
            is_pass_by_value=True,
        )

    def write(self, name, tensor):
        """Makes a result of the graph one of the arrays."""
        spec = self.request.arrays[name]
        tensor.set_output(True).set_uid(self.uids[name]).set_data_type(self.type(spec.dtype))
        tensor.set_dim(list(spec.shape)).set_stride(self.request.strides(name))


def strides(shape):
    """Returns the strides, in numbers, of an array whose channels, axis 1, are last in memory."""
    _, c, *space = shape
    return [c * prod(space), 1, *(c * prod(space[i + 1 :]) for i in range(len(space)))]


def has_steps(array, steps):
    """Returns whether an array has these strides; those of axes of length 1 do not matter."""
    of_axes = zip(array.shape, array.strides, steps, strict=True)
    return all(n == 1 or have == want * array.itemsize for n, have, want in of_axes)
