"""Packing of several byte arrays into one."""

from itertools import pairwise

import numpy as np


def pack_parts(parts):
    """Packs `parts` into one byte array: their number, their lengths, their contents."""
    head = np.array([len(parts), *map(len, parts)], np.int64)
    return np.concatenate([head.view(np.uint8), *parts])


def unpack_parts(data):
    """Returns the parts packed by `pack_parts`, as views."""
    head = 8 * (1 + int(data[:8].view(np.int64)[0]))
    edges = [head, *(head + np.cumsum(data[8:head].view(np.int64)))]
    return [data[start:stop] for start, stop in pairwise(edges)]
