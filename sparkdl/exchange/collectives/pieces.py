"""Vectors as the pieces in which they travel."""

import itertools

import numpy as np


def raw(x):
    """Returns the bytes of a flat contiguous array, no copy."""
    return x.view(np.uint8).data


def cuts(length, parts):
    """Returns the bounds of `parts` parts of a vector, as equal as can be: parts + 1 numbers."""
    return [length * i // parts for i in range(parts + 1)]


def pieces(data, longest):
    """Returns the views of at most `longest` bytes that make up a view.

    One empty view if it is empty.
    """
    edges = cuts(len(data), max(1, -(-len(data) // longest)))
    return [data[a:b] for a, b in itertools.pairwise(edges)]
