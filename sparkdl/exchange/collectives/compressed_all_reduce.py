"""All-reduce of vectors that travel as messages of a codec.

References
----------
Seide et al., 1-bit stochastic gradient descent (2014), section 3.3, for the stripes. Tang, Lian,
Yu, Zhang and Liu, DoubleSqueeze (2019), for what is kept back on both ways. Strom, Scalable
distributed DNN training (2015), for messages to all.
"""

from itertools import pairwise

import numpy as np

from sparkdl.errors import DataError
from sparkdl.exchange.collectives.all_gather import PIECE, all_gather_bytes, send_all
from sparkdl.exchange.collectives.pieces import cuts, pieces, raw


def to_all(call, codec, coder, x):
    """Sends all messages to everyone; each rank adds them in the order of ranks."""
    messages = yield from all_gather_bytes(call, coder.encode(x))
    for rank, message in enumerate(messages):
        decode(call, codec, rank, message, x, add=rank > 0)
    return x


def stripes(call, codec, coders, x):
    """Sums one stripe of flat x on each rank, which sends the sum to all, encoded again.

    `coders` are for the stripes of all ranks; that of this rank's own is for the sum. All messages
    of a coder have the same size. Its own part of its stripe a rank adds as it is.
    """
    edges, rank = cuts(len(x), call.size), call.rank
    stripe = [x[a:b] for a, b in pairwise(edges)]
    others = [(rank + i) % call.size for i in range(1, call.size)]

    parts = {other: np.empty(coders[rank].size, np.uint8) for other in others}
    receipts = await_messages(call, parts)
    for other in others:  # while one is on its way the next is encoded
        send_all(call, [other], coders[other].encode(stripe[other]))
    for other in sorted(others):
        yield from receipts[other]
        decode(call, codec, other, parts[other], stripe[rank], add=True)

    sums = {other: np.empty(coders[other].size, np.uint8) for other in others}
    receipts = await_messages(call, sums)
    message = coders[rank].encode(stripe[rank])
    send_all(call, others, message)
    decode(call, codec, rank, message, stripe[rank])  # what the others will have
    for other in others:
        yield from receipts[other]
        decode(call, codec, other, sums[other], stripe[other])
    return x


def await_messages(call, messages):
    """Returns {rank: receipts of all pieces of its message} for {rank: memory}."""
    return {
        other: [call.receive(other, piece) for piece in pieces(raw(memory), PIECE)]
        for other, memory in messages.items()
    }


def decode(call, codec, rank, message, out, add=False):
    """Decodes what came from a rank; PeerError that names it if it cannot be decoded."""
    try:
        codec.decode(message, out, add)
    except DataError as error:
        if rank == call.rank:
            raise
        raise call.links[rank].trouble(f"sent what cannot be decoded: {error}") from error
