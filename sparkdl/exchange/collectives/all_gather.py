"""All-gather: every rank sends its part to every other over all links at once."""

import numpy as np

from sparkdl.exchange.collectives.pieces import pieces, raw

PIECE = 512 << 10  # bytes
SMALL = 16 << 10  # bytes that a rank may send before the receivers are ready


def all_gather(call, views):
    """Fills `views`, the bytes of each rank, of which only this rank's are set at the start."""
    others = [(call.rank + i) % call.size for i in range(1, call.size)]
    receipts = [
        call.receive(other, piece) for other in others for piece in pieces(views[other], PIECE)
    ]
    for piece in pieces(views[call.rank], PIECE):
        for other in others:
            call.send(other, piece)
    yield from receipts


def all_gather_bytes(call, data):
    """Gathers the bytes of all ranks, of any lengths, as uint8 arrays by rank."""
    own, small = np.frombuffer(data, np.uint8), len(data) <= SMALL
    lengths = np.full(call.size, len(own), np.int64)
    others = [(call.rank + i) % call.size for i in range(1, call.size)]
    heads = [call.receive(other, raw(lengths[other : other + 1])) for other in others]
    for other in others:
        call.send(other, raw(lengths[call.rank : call.rank + 1]))
        if small:
            send_all(call, [other], own)
    yield from heads
    parts = [own if r == call.rank else np.empty(n, np.uint8) for r, n in enumerate(lengths)]
    receipts = [
        call.receive(other, piece) for other in others for piece in pieces(raw(parts[other]), PIECE)
    ]
    if not small:
        send_all(call, others, own)
    yield from receipts
    return parts


def send_all(call, others, data):
    for piece in pieces(raw(data), PIECE):
        for other in others:
            call.send(other, piece)
