"""All-reduce and reduce-scatter of long vectors around a ring, in pieces that stay in cache.

The vector is cut into one chunk per rank. Each chunk travels once around the ring and is summed on
the way (size - 1 steps); for an all-reduce the sum then travels around once more (size - 1 steps).
So a rank sends 2 (size - 1) / size of the vector, less than twice its size for any number of ranks.

The sum of a rank's chunk begins with the next rank's numbers and ends with its own; add_around in
sums.py has that order.

Each chunk is cut into pieces, and a piece is sent on as soon as it is summed, so the operating
system transfers some pieces while others are added. All ranks compute the same order of pieces, so
frames need no sequence numbers.

References
----------
Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations (2009).
"""

import math
from collections import deque

import numpy as np

from sparkdl.exchange.collectives.pieces import cuts, equal_bounds, raw

SHORTEST, LONGEST = 512 << 10, 1 << 20  # bytes of a piece: for few calls, and within the CPU cache
AHEAD = 8  # pieces of the first chunk sent before any has arrived


def all_reduce(call, x, reduce):
    """Replaces flat x by its reduction over all ranks, on every rank."""
    yield from travel(call, x, reduce, 2 * call.size - 2)


def reduce_scatter(call, x, reduce):
    """Reduces this rank's chunk of flat x and returns a view of it; x then has partial sums."""
    if call.size > 1:
        yield from travel(call, x, reduce, call.size - 1)
    edges = cuts(len(x), call.size)
    return x[edges[call.rank] : edges[call.rank + 1]]


def travel(call, x, reduce, steps):
    """Runs `steps` ring steps, each with all pieces of a chunk."""
    rank, size = call.rank, call.size
    left, right = (rank - 1) % size, (rank + 1) % size
    count = pieces_of(x.nbytes / size)
    chunks = [chunk_pieces(x, a, b, count) for a, b in equal_bounds(len(x), size)]
    scratch = np.empty(-(-len(x) // (size * count)) + 1, x.dtype)
    own = chunks[left]  # a chunk then ends at its owner after size - 1 steps
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
    """Returns the number of pieces per chunk: the number in flight, if pieces get long enough."""
    return max(math.ceil(nbytes / LONGEST), min(AHEAD, int(nbytes / SHORTEST)), 1)


def order(steps, count):
    """Yields (step, piece, piece of the first chunk to send next, or None) in the order of arrival.

    A rank sends in the order in which its right neighbor receives, and all ranks behave alike: so
    the queue grows at its end as it is read from its start.
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


def chunk_pieces(x, start, end, count):
    return [x[start + a : start + b] for a, b in equal_bounds(end - start, count)]
