"""Tensors and arrays of Deeplearning4j, with their places in the graph."""

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, kw_only=True)
class Place:
    """A tensor: the output of a vertex, or an input.

    Parameters
    ----------
    name : str
        Name of the vertex or input.
    shape : tuple of int
        Of one example: rows (F,), sequences (T, F), images (C, H, W), volumes.
    """

    name: str
    shape: tuple


@dataclass(frozen=True, kw_only=True)
class Take:
    """An array in Deeplearning4j's parameter vector, and its conversion.

    Parameters
    ----------
    shape : tuple of int
        Shape in Deeplearning4j.
    order : str
        "C" or "F": its memory order in the vector.
    parts : dict
        {sparkdl array: function that computes it}; most have one part.
    trained : bool
        Whether it has updater state; means and variances have none.
    bias : bool
        Whether it is trained by the updater for biases.
    """

    shape: tuple
    order: str = "C"
    parts: dict
    trained: bool = True
    bias: bool = False

    @property
    def size(self):
        return prod(self.shape)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A Take of a vertex, and its updater.

    Parameters
    ----------
    vertex : str
    take : Take
    updater : str or None
        The updater's configuration as text, for comparison; None if not trained.
    """

    vertex: str
    take: Take
    updater: str | None


def same(array):
    return array


def array(ours, shape, order="C", change=same, **options):
    """Returns the Take of an array that becomes one sparkdl array."""
    return Take(shape=tuple(shape), order=order, parts={ours: change}, **options)
