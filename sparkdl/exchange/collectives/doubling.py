"""All-reduce of short vectors by recursive doubling.

Takes log2(size) steps, each with the whole vector. If the size is not a power of two, ranks beyond
the largest power of two first send their vector to a lower rank, and get the result at the end. All
ranks add the same pairs in the same order, so all get the same bits; add_in_pairs in sums.py has
that order.

References
----------
Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005).
"""

import numpy as np

from sparkdl.exchange.collectives.pieces import raw


def all_reduce(call, x, reduce):
    """Replaces flat x by its reduction over all ranks, on every rank."""
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
