"""A case of a layer test."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A layer, the shapes of an example of its bottoms, and what its tops hold.

    `text` is the layer's type and options in Caffe's format. `expected(p, *bottoms)` gives an array
    or one for each top; p has the parameters by the vertices' names. Blobs are (N, ...), those of
    sequences (N, T, ...). `whole` is the number below which a bottom's numbers are, by its place.
    """

    text: str
    shapes: tuple
    expected: Callable
    tops: int = 1
    positive: bool = False
    whole: dict | None = None

    def __str__(self):
        return " ".join(self.text.split())[:90]

    @property
    def kind(self):
        return self.text.split("'")[1]


def case(text, *shapes, **options):
    """A Case with its shapes one after the other."""
    return Case(text, shapes, options.pop("expected"), **options)
