"""All-to-all: every rank sends different bytes to each other rank, optionally with an answer."""

import numpy as np

from sparkdl.exchange.collectives.all_gather import PIECE, SMALL, send_all
from sparkdl.exchange.collectives.pieces import pieces, raw


def all_to_all_bytes(call, parts):
    """Sends parts[rank] to each rank; returns the received bytes, uint8 arrays by rank."""
    parts = [np.frombuffer(part, np.uint8) for part in parts]
    sizes = np.array([len(part) for part in parts], np.int64)
    lengths, others = sizes.copy(), [(call.rank + i) % call.size for i in range(1, call.size)]
    heads = [call.receive(other, raw(lengths[other : other + 1])) for other in others]
    for other in others:
        call.send(other, raw(sizes[other : other + 1]))
        if sizes[other] <= SMALL:
            send_all(call, [other], parts[other])
    yield from heads
    received = [np.empty(n, np.uint8) for n in lengths]
    received[call.rank] = parts[call.rank]
    receipts = [
        call.receive(other, piece)
        for other in others
        for piece in pieces(raw(received[other]), PIECE)
    ]
    for other in others:
        if sizes[other] > SMALL:
            send_all(call, [other], parts[other])
    yield from receipts
    return received


def ask_and_answer(call, requests, answer):
    """Sends requests[rank] to each rank; returns the answers, uint8 arrays by rank.

    `answer` takes the requests, [uint8 array by rank], and returns the answers by rank. It runs in
    the thread that drives calls.
    """
    asked = yield from all_to_all_bytes(call, requests)
    return (yield from all_to_all_bytes(call, answer(asked)))
