"""The two orders in which the numbers of all ranks are added, whatever the transport.

Floating-point sums depend on the order. It follows from the size of a vector, the position of a
number in it, and the number of ranks, so sockets and shared memory give the same bits.
"""

from functools import cache

import numpy as np


def add_in_pairs(parts, add, out):
    """Returns the sum of `parts` in the order of short vectors, written to `out`.

    The order is that of collectives/doubling.py: for 5 ranks ((0 + 4) + 1) + (2 + 3). `parts` are
    not changed. A single part is returned itself.
    """
    return add_neighbors([parts[rank] for rank in ranks_in_pairs(len(parts))], add, out)


@cache
def ranks_in_pairs(size):
    """Returns the ranks at the leaves of the summation tree, left to right: of 5, 0 4 1 2 3."""
    core = 1 << size.bit_length() - 1
    return [rank for i in range(core) for rank in (i, i + core) if rank < size]


def add_neighbors(parts, add, out):
    """Adds parts that are in the order of the tree's leaves."""
    if len(parts) == 1:
        return parts[0]
    half = 1 << len(parts).bit_length() - 2
    half += min(len(parts) - 2 * half, half)
    others = parts[half:]
    first = add_neighbors(parts[:half], add, out)
    second = add_neighbors(others, add, np.empty_like(out) if len(others) > 1 else None)
    return add(first, second, out=out)


def add_around(parts, owner, add, out):
    """Fills `out` with the sum of `parts` in the order of the owner's chunk of a long vector.

    It begins with the next rank's part and ends with the owner's, as in collectives/ring.py.
    `parts` are not changed.
    """
    first, second, *others = *parts[owner + 1 :], *parts[: owner + 1]
    add(first, second, out=out)
    for other in others:
        add(out, other, out=out)
