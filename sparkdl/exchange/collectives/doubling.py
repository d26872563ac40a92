"""All-reduce of short vectors: in each step the part of the group that agrees doubles.

log2(size) steps, each with the whole vector. Where the size is no power of two, the ranks above
the largest one give theirs to a rank below before, and get the result after. Sums are taken in the
order of ranks, so all get the same bits.

References
----------
Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
"""

import numpy as np

from sparkdl.exchange.collectives.pieces import raw


def all_reduce(call, x, reduce):
    """Replace flat x by its sum (or what `reduce` is) over all ranks."""
    rank, size = call.rank, call.size
    core = 1 << size.bit_length() - 1
    mine = x.copy()  # what is sent must not change until it has gone out
    if rank >= core:
        call.send(rank - core, raw(mine))
        yield call.receive(rank - core, raw(x))
        return
    if rank + core < size:
        theirs = np.empty_like(x)
        yield call.receive(rank + core, raw(theirs))
        mine = reduce(mine, theirs)
    distance = 1
    while distance < core:
        other = rank ^ distance
        theirs = np.empty_like(x)
        call.send(other, raw(mine))
        yield call.receive(other, raw(theirs))
        mine = reduce(mine, theirs) if rank < other else reduce(theirs, mine)
        distance *= 2
    x[...] = mine
    if rank + core < size:
        call.send(rank + core, raw(mine))
