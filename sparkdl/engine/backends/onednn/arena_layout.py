"""How arrays lie in the arena: images and volumes channels last."""

import math

import numpy as np


def place(part, shape):
    """Returns flat memory as an array of this shape."""
    if len(shape) not in (4, 5):
        return part.reshape(shape)
    n, c, *space = shape
    return np.moveaxis(part.reshape(n, *space, c), -1, 1)


def empty_like(tensor):
    """Returns an array as a program has it for a tensor, to ask oneDNN for kernels."""
    return place(np.empty(math.prod(tensor.shape), tensor.dtype), tensor.shape)
