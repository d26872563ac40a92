"""Stretches of a vector as one shorter vector."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparkdl.nn.hints import Value


@dataclass(frozen=True)
class VectorPart:
    """Some stretches of a vector (n,), which lie one behind the other in a vector (size,).

    Parameters
    ----------
    slices : tuple of slice
        In ascending order, apart from each other. Some may be empty.
    """

    slices: tuple[slice, ...] = ()

    @cached_property
    def size(self) -> int:
        """Length of the part."""
        return sum(part.stop - part.start for part in self.slices)

    def take(self, vector: Value) -> Value:
        """Returns the part (size,) of a vector (n,), a copy."""
        values = np.empty(self.size, vector.dtype)
        self.copy(vector, values)
        return values

    def copy(self, vector: Value, values: Value) -> None:
        """Fills `values` (size,) with the part of a vector (n,)."""
        for own, part in self._pairs():
            values[own] = vector[part]

    def put(self, values: Value, vector: Value) -> None:
        """Writes the part's `values` (size,) to their places in a vector (n,)."""
        for own, part in self._pairs():
            vector[part] = values[own]

    def _pairs(self) -> Iterator[tuple[slice, slice]]:
        """Yields (where it lies in the part, where in the whole) of each stretch."""
        start = 0
        for part in self.slices:
            stop = start + part.stop - part.start
            yield slice(start, stop), part
            start = stop

    def local(self, stretch: slice) -> slice:
        """Returns where the numbers of a stretch of the whole lie in the part; perhaps none do."""
        return slice(self._below(stretch.start), self._below(stretch.stop))

    def moved(self, stretch: slice, offset: int) -> "VectorPart":
        """Returns the part of a stretch of the whole, where that begins at `offset`."""
        inside = (
            slice(max(part.start, stretch.start), min(part.stop, stretch.stop))
            for part in self.slices
        )
        shift = offset - stretch.start
        return VectorPart(
            tuple(slice(p.start + shift, p.stop + shift) for p in inside if p.start < p.stop)
        )

    def _below(self, place: int) -> int:
        """Returns how many numbers of the part lie before this place of the whole."""
        return sum(max(0, min(part.stop, place) - part.start) for part in self.slices)
