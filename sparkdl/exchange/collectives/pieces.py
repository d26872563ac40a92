"""Pieces in which vectors travel."""

from itertools import pairwise

import numpy as np


def raw(x):
    """Returns the bytes of a flat contiguous array, without a copy."""
    return x.view(np.uint8).data


def cuts(length, parts):
    """Returns the parts + 1 bounds that cut a vector into nearly equal parts."""
    return [length * i // parts for i in range(parts + 1)]


def equal_bounds(count, parts):
    """Returns (start, stop) of `parts` parts of `count` numbers; sizes differ by at most one."""
    return list(pairwise(cuts(count, parts)))


def pieces(data, longest):
    """Splits a view into views of at most `longest` bytes; an empty one gives one empty view."""
    edges = cuts(len(data), max(1, -(-len(data) // longest)))
    return [data[a:b] for a, b in pairwise(edges)]
