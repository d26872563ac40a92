"""All-reduce and reduce-scatter of long vectors around a ring, in pieces that stay in cache.

The vector is cut into one chunk per rank. Each chunk goes round once and is summed on the way
(size - 1 steps); for an all-reduce it then goes round once more as it is (size - 1 steps), so a
rank sends 2 (size - 1) / size of the vector, whatever the number of ranks.

The sum of a rank's chunk begins with the next rank's numbers and ends with its own; add_around in
sums.py has that order.

Each chunk is cut into pieces, and a piece is sent on as soon as it is summed: while one piece is
added here, the kernel moves others. All ranks handle pieces in the same order, which each works
out for itself, so frames carry no numbers.

References
----------
Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations (2009).
"""

import itertools
import math
from collections import deque

import numpy as np

from sparkdl.exchange.collectives.pieces import cuts, raw

SHORTEST, LONGEST = 512 << 10, 1 << 20  # bytes of a piece: more calls, or more cache than there is
AHEAD = 8  # pieces of the own chunk that are on their way before the first one comes in


def all_reduce(call, x, reduce):
    """Replaces flat x by its sum (or what `reduce` is) over all ranks."""
    yield from travel(call, x, reduce, 2 * call.size - 2)


def reduce_scatter(call, x, reduce):
    """Sums this rank's chunk of flat x; the rest of x holds sums of some ranks."""
    if call.size > 1:
        yield from travel(call, x, reduce, call.size - 1)
    edges = cuts(len(x), call.size)
    return x[edges[call.rank] : edges[call.rank + 1]]


def travel(call, x, reduce, steps):
    """Takes `steps` steps around the ring, with all pieces of a chunk in each."""
    rank, size = call.rank, call.size
    left, right = (rank - 1) % size, (rank + 1) % size
    count = pieces_of(x.nbytes / size)
    chunks = [chunk_pieces(x, a, b, count) for a, b in edges_of(len(x), size)]
    scratch = np.empty(-(-len(x) // (size * count)) + 1, x.dtype)
    own = chunks[left]  # so that after size - 1 steps a rank has its own
    for piece in range(min(AHEAD, count)):
        call.send(right, raw(own[piece]))
    for step, piece, fresh in order(steps, count):
        piece_view = chunks[(rank - 2 - step) % size][piece]
        if step < size - 1:
            come = scratch[: len(piece_view)]
            yield call.receive(left, raw(come))
            reduce(come, piece_view, out=piece_view)
        else:
            yield call.receive(left, raw(piece_view))
        if step + 1 < steps:
            call.send(right, raw(piece_view))
        if fresh is not None:
            call.send(right, raw(own[fresh]))


def pieces_of(nbytes):
    """Returns the number of pieces of a chunk: as many as are under way at once, if long enough."""
    return max(math.ceil(nbytes / LONGEST), min(AHEAD, int(nbytes / SHORTEST)), 1)


def order(steps, count):
    """Yields (step, piece, own piece to send next, or None) in the order of arrival.

    What a rank sends is what its right neighbor receives, and all do alike: this list grows at
    its end as it is read from its start.
    """
    fresh = min(AHEAD, count)
    line = deque((0, piece) for piece in range(fresh))
    while line:
        step, piece = line.popleft()
        if step + 1 < steps:
            line.append((step + 1, piece))
        if fresh < count:
            line.append((0, fresh))
            yield step, piece, fresh
            fresh += 1
        else:
            yield step, piece, None


def edges_of(length, parts):
    edges = cuts(length, parts)
    return list(itertools.pairwise(edges))


def chunk_pieces(x, start, end, count):
    return [x[start + a : start + b] for a, b in edges_of(end - start, count)]
