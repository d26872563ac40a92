"""Tensors of Keras, with their places in the graph."""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.errors import UnsupportedError


@dataclass(frozen=True, kw_only=True)
class Place:
    """A Keras tensor: the output of a vertex, or an input.

    Parameters
    ----------
    name : str
        Name of the vertex or input.
    shape : tuple of int
        Shape of one example in sparkdl.
    turned : bool
        Whether channels are first here but last in Keras.
    mask : tuple, optional
        The mask of its steps, the same in Keras and here: see `automatic_masks.py`.
    filled : bool
        Whether its numbers at masked steps are those of Keras, too.
    """

    name: str
    shape: tuple
    turned: bool = False
    mask: tuple | None = None
    filled: bool = True

    @property
    def masked(self):
        return self.mask is not None


def keras_shape(place):
    """Returns the shape of one example in Keras, from `shape` and `turned` of a place."""
    return (*place.shape[1:], place.shape[0]) if place.turned else place.shape


def example_axis(axis, rank):
    """Returns the axis, from 0 on, of examples with `rank` axes that Keras counts with the batch.

    None if it is no axis of an example.
    """
    sound = type(axis) is int and axis != 0 and -rank <= axis <= rank
    return (axis - 1 if axis > 0 else axis) % rank if sound else None


def channels_first(rank):
    """Returns the axis order that moves the last axis to the front."""
    return (rank - 1, *range(rank - 1))


def channels_last(rank):
    """Returns the axis order that moves the first axis to the end."""
    return (*range(1, rank), 0)


def flat(array):
    return array.reshape(-1)


@dataclass(frozen=True, kw_only=True)
class Take:
    """A Keras array, and its conversion.

    Parameters
    ----------
    ours : str
        Name of the parameter or buffer; "" for a number that is not used.
    change : callable
    path : str
        The object in the layer that owns it: "cell", "forward_layer/cell".
    state_change : callable, optional
        Conversion of its optimizer state. None: `change`.
    shape : callable, optional
        Maps the sparkdl shape to Keras's. None: the same.
    value : array, optional
        Its numbers in sparkdl, where they are an option of the layer and the file has no array.
    """

    ours: str
    change: object = lambda array: array
    path: str = ""
    state_change: object = None
    shape: object = None
    value: object = None

    def back(self, array):
        """Converts a sparkdl array to Keras's; numbers that `change` adds to others become 0."""
        shape = array.shape if self.shape is None else self.shape(array.shape)
        numbers = np.arange(prod(shape)).reshape(shape)
        places = (self.state_change or self.change)(numbers)
        found = np.zeros(prod(shape), np.float32)
        found[places.reshape(-1)] = array.reshape(-1)
        return found.reshape(shape)


def no_masks(places, what):
    """Raises UnsupportedError for masked sequences that Keras treats differently."""
    if any(place.masked for place in places):
        raise UnsupportedError(f"{what} of a sequence with a mask is not supported")
