"""Slices of a vector, viewed as one shorter vector."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparkdl.nn.hints import Value


@dataclass(frozen=True)
class VectorPart:
    """Some slices of a vector (n,), concatenated to a vector (size,).

    Parameters
    ----------
    slices : tuple of slice
        In ascending order, without overlap. Some may be empty.
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
        """Writes the part's `values` (size,) to their positions in a vector (n,)."""
        for own, part in self._pairs():
            vector[part] = values[own]

    def _pairs(self) -> Iterator[tuple[slice, slice]]:
        """Yields (slice of the part, slice of the whole) for each slice."""
        start = 0
        for part in self.slices:
            stop = start + part.stop - part.start
            yield slice(start, stop), part
            start = stop

    def local(self, stretch: slice) -> slice:
        """Returns the slice of the part within `stretch`, a slice of the whole; may be empty."""
        return slice(self._below(stretch.start), self._below(stretch.stop))

    def moved(self, stretch: slice, offset: int) -> "VectorPart":
        """Returns the part within `stretch`, a slice of the whole, shifted to begin at `offset`."""
        inside = (
            slice(max(part.start, stretch.start), min(part.stop, stretch.stop))
            for part in self.slices
        )
        shift = offset - stretch.start
        return VectorPart(
            tuple(slice(p.start + shift, p.stop + shift) for p in inside if p.start < p.stop)
        )

    def _below(self, place: int) -> int:
        """Returns how many numbers of the part precede this position of the whole."""
        return sum(max(0, min(part.stop, place) - part.start) for part in self.slices)
