"""Tensors and arrays of Deeplearning4j as they stand in our graph."""

from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, kw_only=True)
class Place:
    """A tensor, given by a vertex or an input of ours.

    Parameters
    ----------
    name : str
        The vertex or input.
    shape : tuple of int
        Of one example: rows (F,), sequences (T, F), images (C, H, W), volumes.
    """

    name: str
    shape: tuple


@dataclass(frozen=True, kw_only=True)
class Take:
    """An array of Deeplearning4j's vector of parameters, and what makes ours of it.

    Parameters
    ----------
    shape : tuple of int
        Deeplearning4j's.
    order : str
        "C" or "F": how it lies in the vector.
    parts : dict
        {our array: what makes it of theirs}; most have one part.
    trained : bool
        Whether it has a state of the updater; means and variances have none.
    bias : bool
        Whether the updater of biases moves it.
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
    """A Take of a vertex, and what its layer is trained by.

    Parameters
    ----------
    vertex : str
    take : Take
    updater : str or None
        The updater's configuration as a text, to tell whether two are equal; None where it is not
        trained.
    """

    vertex: str
    take: Take
    updater: str | None


def same(array):
    return array


def array(ours, shape, order="C", change=same, **options):
    """Returns the Take of an array that is one of ours."""
    return Take(shape=tuple(shape), order=order, parts={ours: change}, **options)
