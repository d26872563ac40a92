"""Several pieces of bytes as one."""

from itertools import pairwise

import numpy as np


def packed(parts):
    """One array of bytes that holds those of `parts`: their number, their lengths, themselves."""
    head = np.array([len(parts), *map(len, parts)], np.int64)
    return np.concatenate([head.view(np.uint8), *parts])


def unpacked(data):
    """The parts that `packed` has been given, as views."""
    head = 8 * (1 + int(data[:8].view(np.int64)[0]))
    edges = [head, *(head + np.cumsum(data[8:head].view(np.int64)))]
    return [data[start:stop] for start, stop in pairwise(edges)]
