"""All-reduce of vectors compressed by a codec.

References
----------
Seide et al., 1-bit stochastic gradient descent (2014), section 3.3, for the stripes. Tang, Lian,
Yu, Zhang and Liu, DoubleSqueeze (2019), for error feedback in both directions. Strom, Scalable
distributed DNN training (2015), for sending messages to all.
"""

from itertools import pairwise

import numpy as np

from sparkdl.errors import DataError
from sparkdl.exchange.collectives.all_gather import PIECE, all_gather_bytes, send_all
from sparkdl.exchange.collectives.pieces import cuts, pieces, raw


def to_all(call, codec, coder, x):
    """Sends every message to all ranks, each of which adds them in rank order."""
    messages = yield from all_gather_bytes(call, coder.encode(x))
    for rank, message in enumerate(messages):
        decode(call, codec, rank, message, x, add=rank > 0)
    return x


def stripes(call, codec, coders, x):
    """Reduces one stripe of flat x on each rank, which encodes the sum again and sends it to all.

    `coders` has one coder per stripe; the one for this rank's stripe encodes the sum. All messages
    of a coder have the same size. A rank adds its own part of its stripe without encoding it.
    """
    edges, rank = cuts(len(x), call.size), call.rank
    stripe = [x[a:b] for a, b in pairwise(edges)]
    others = [(rank + i) % call.size for i in range(1, call.size)]

    parts = {other: np.empty(coders[rank].size, np.uint8) for other in others}
    receipts = await_messages(call, parts)
    for other in others:  # each message is encoded while the previous one is in transit
        send_all(call, [other], coders[other].encode(stripe[other]))
    for other in sorted(others):
        yield from receipts[other]
        decode(call, codec, other, parts[other], stripe[rank], add=True)

    sums = {other: np.empty(coders[other].size, np.uint8) for other in others}
    receipts = await_messages(call, sums)
    message = coders[rank].encode(stripe[rank])
    send_all(call, others, message)
    decode(call, codec, rank, message, stripe[rank])  # the same bits as on other ranks
    for other in others:
        yield from receipts[other]
        decode(call, codec, other, sums[other], stripe[other])
    return x


def await_messages(call, messages):
    """Posts receives for {rank: buffer}; returns {rank: receipts of all pieces of its message}."""
    return {
        other: [call.receive(other, piece) for piece in pieces(raw(memory), PIECE)]
        for other, memory in messages.items()
    }


def decode(call, codec, rank, message, out, add=False):
    """Decodes a message from `rank`; raises a PeerError that names the rank if it is invalid."""
    try:
        codec.decode(message, out, add)
    except DataError as error:
        if rank == call.rank:
            raise
        raise call.links[rank].trouble(f"sent a message that cannot be decoded: {error}") from error
