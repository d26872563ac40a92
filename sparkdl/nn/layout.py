"""Layout of named arrays in one flat vector."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Value, Values


@dataclass(frozen=True)
class Layout:
    """Named arrays concatenated in the order of `entries`.

    Parameters
    ----------
    entries : tuple of (str, tuple of int)
        Name and shape; a name is "layer/array", as in "dense_1/W". The arrays of a layer are
        adjacent.
    """

    entries: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @cached_property
    def size(self) -> int:
        """Length of the vector."""
        return sum(prod(shape) for _, shape in self.entries)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """{name: slice of the vector}"""
        sizes = [(name, prod(shape)) for name, shape in self.entries]
        return consecutive(sizes)

    @cached_property
    def split_by_layer(self) -> dict[str, slice]:
        """{layer name: slice of the vector}, for layers with arrays."""
        sizes: dict[str, int] = {}
        for name, shape in self.entries:
            layer = name.rpartition("/")[0]
            sizes[layer] = sizes.get(layer, 0) + prod(shape)
        return consecutive(sizes.items())

    def views(self, vector: Value) -> dict[str, Any]:
        """Returns {name: array}: views that share memory with `vector`, or parts of a Tensor.

        Raises
        ------
        ShapeError
            If the vector does not have the length of the layout.
        """
        if tuple(vector.shape) != (self.size,):
            raise ShapeError(f"the layout needs a vector {(self.size,)}, got {tuple(vector.shape)}")
        shapes = dict(self.entries)
        return {n: ops.reshape(cut(vector, s), shapes[n]) for n, s in self.slices.items()}

    def vector(self, arrays: Values, dtype: Any = np.float32) -> np.ndarray:
        """Returns a new vector filled from {name: array}."""
        vector = np.empty(self.size, dtype)
        for name, view in self.views(vector).items():
            view[...] = arrays[name]
        return vector


def consecutive(sizes: Iterable[tuple[str, int]]) -> dict[str, slice]:
    """Returns {name: slice} for consecutive names with sizes."""
    slices, start = {}, 0
    for name, size in sizes:
        slices[name] = slice(start, start + size)
        start += size
    return slices


def cut(vector: Value, part: slice) -> Value:
    """Returns vector[part] of an array (as a view) or a Tensor."""
    return ops.slice(vector, (part.start,), (part.stop,))
