"""Tensors of Keras as they stand in our graph."""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class Place:
    """A tensor of Keras, given by a vertex or an input of ours.

    Parameters
    ----------
    name : str
        The vertex or input.
    shape : tuple of int
        Of one example, as ours has it.
    turned : bool
        Whether ours has the channels first where Keras's has them last.
    masked : bool
        Whether a mask says which of its steps are padding.
    """

    name: str
    shape: tuple
    turned: bool = False
    masked: bool = False

    @property
    def keras_shape(self):
        """The shape of one example, as Keras has it."""
        return (*self.shape[1:], self.shape[0]) if self.turned else self.shape


def channels_first(rank):
    """Returns the order of axes that brings the last one to the front."""
    return (rank - 1, *range(rank - 1))


def channels_last(rank):
    """Returns the order of axes that brings the first one to the end."""
    return (*range(1, rank), 0)


def inverse(order):
    return tuple(order.index(i) for i in range(len(order)))


@dataclass(frozen=True, kw_only=True)
class Take:
    """An array of Keras, and what makes ours of it.

    Parameters
    ----------
    ours : str
        The parameter or buffer.
    change : callable
    path : str
        The object below the layer that holds it: "cell", "forward_layer/cell".
    state_change : callable, optional
        The same for what an optimizer keeps for it. None: as `change`.
    shape : callable, optional
        Keras's shape, of ours. None: the same.
    """

    ours: str
    change: object = lambda array: array
    path: str = ""
    state_change: object = None
    shape: object = None

    def back(self, array):
        """Returns Keras's array of ours; what `change` adds to another number is 0."""
        shape = array.shape if self.shape is None else self.shape(array.shape)
        numbers = np.arange(prod(shape)).reshape(shape)
        places = (self.state_change or self.change)(numbers)
        found = np.zeros(prod(shape), np.float32)
        found[places.reshape(-1)] = array.reshape(-1)
        return found.reshape(shape)


def no_masks(places, what):
    """Refuses sequences with a mask where Keras and we would go on differently."""
    if any(place.masked for place in places):
        raise UnsupportedError(f"{what} of a sequence with a mask is not supported")
