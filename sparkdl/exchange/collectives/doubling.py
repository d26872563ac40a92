"""All-reduce of short vectors: in each step the part of the group that agrees doubles.

log2(size) steps, each with the whole vector. Where the size is no power of two, the ranks above
the largest one give theirs to a rank below before, and get the result after. All add the same pairs
in the same order, so all get the same bits; add_in_pairs in sums.py has that order.

References
----------
Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
"""

import numpy as np

from sparkdl.exchange.collectives.pieces import raw


def all_reduce(call, x, reduce):
    """Replaces flat x by its sum (or what `reduce` is) over all ranks."""
    rank, size = call.rank, call.size
    core = 1 << size.bit_length() - 1
    if rank >= core:
        call.send_copy(rank - core, raw(x))
        yield call.receive(rank - core, raw(x))
        return
    received = np.empty_like(x)
    mine_raw, theirs_raw, distance = raw(x), raw(received), 1
    if rank + core < size:
        yield call.receive(rank + core, theirs_raw)
        reduce(x, received, out=x)
    while distance < core:
        other = rank ^ distance
        call.send_copy(other, mine_raw)
        yield call.receive(other, theirs_raw)
        low, high = (x, received) if rank < other else (received, x)
        reduce(low, high, out=x)
        distance *= 2
    if rank + core < size:
        call.send_copy(rank + core, mine_raw)
