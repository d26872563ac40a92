"""A case of a layer test."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A layer, the shapes of one example of its bottoms, and the values of its tops.

    `text` is the layer's type and options in Caffe's format. `expected(p, *bottoms)` returns the
    top, or one array per top; p has the parameters by vertex name. Blobs are (N, ...), of sequences
    (N, T, ...). `whole` is {index of a bottom of whole numbers: their exclusive upper bound}.
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
    """Returns a Case, with its shapes as separate arguments."""
    return Case(text, shapes, options.pop("expected"), **options)
