"""Feeds random and mutated bytes to everything that reads from a socket.

Usage: python -m tests.exchange.fuzz [--minutes 10] [--seed 0] [--only wire] [--case 1234]

Each case must end in time and raise only the errors meant for it, and memory stays below a bound. A
failure prints the seed and the case number, which reproduce it.
"""

import contextlib
import faulthandler
import functools
import json
import math
import random
import resource
import socket
import struct
import sys
import threading
import time

import numpy as np

from sparkdl.error_messages import error_to_json
from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.handshake import (
    HELLO,
    MAC,
    NONCE,
    PROTOCOL,
    HandshakeRefused,
    Verdict,
    examine,
    introduce,
    sign,
)
from sparkdl.exchange.links.link import LONGEST_FRAME, Link
from sparkdl.exchange.links.mailbox import Receipt
from sparkdl.exchange.links.tag import stream_of, tag_of
from sparkdl.exchange.messages.frame import HEADER, Kind, pack_header, unpack_header
from sparkdl.exchange.messages.message import pack_message, unpack_message
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.rendezvous.member import GroupMember
from tests.exchange.mutation import garbage, mutated
from tests.exchange.pairs import SECRET
from tests.support.fuzzing import fuzz_arguments, take_turns

BOUND = 256 << 20  # bytes by which the process may grow
LONGEST = 20  # seconds for one case
LIMIT = 1 << 20
MEMBER = GroupMember(rank=1, host="here", address="::1", port=1, machine="m", group="g")


def frame(rng):
    """Fuzzes the frame decoder."""
    kind = rng.choice(list(Kind))
    data = mutated(
        pack_header(kind, rng.getrandbits(64), rng.getrandbits(rng.choice([4, 20, 64]))), rng
    )
    data = rng.choice([data, garbage(rng)]).ljust(HEADER.size, b"\0")[: HEADER.size]
    with contextlib.suppress(DataError):
        assert unpack_header(data, LIMIT).length <= LIMIT


def message(rng):
    """Fuzzes the JSON that announces arrays."""
    text = json.dumps({"meta": {"a": [1]}, "arrays": [["<f4", [2, 3]], ["|u1", []]]}).encode()
    try:
        _, specs = unpack_message(mutated(text, rng), LIMIT)
        assert sum(math.prod(shape) for _, shape in specs) <= LIMIT
    except DataError:
        pass


def wire(rng):
    """Fuzzes a Wire with altered messages until the stream ends."""
    good = b"".join(part for _ in range(rng.randint(1, 4)) for part in some_message(rng))
    read_wire(garbage(rng) if rng.random() < 0.1 else mutated(good, rng))


def read_wire(stream):
    """Reads messages until the stream ends."""
    ours, theirs = socket.socketpair()
    with theirs, Wire(ours, "a stranger", timeout=5.0, limit=LIMIT) as wire:
        theirs.sendall(stream)
        theirs.shutdown(socket.SHUT_WR)
        try:
            while True:
                _, arrays = wire.receive()
                assert sum(array.nbytes for array in arrays) <= LIMIT
        except PeerError:
            pass


def some_message(rng):
    if rng.random() < 0.3:
        yield pack_header(Kind.HEARTBEAT)
    meta = {"round": rng.getrandbits(8), "text": "é" * rng.randint(0, 20), "deep": [[{}]]}
    arrays = [np.zeros(rng.randint(0, 300), rng.choice(["f4", "i8", "u1"])) for _ in range(3)]
    yield from pack_message(meta, arrays[: rng.randint(0, 3)])


def link(rng):
    """Fuzzes a Link of a group that has memory posted for some of the frames."""
    tag = tag_of(0, False, 0, "a call")
    good = b"".join(some_frame(tag, rng) for _ in range(rng.randint(1, 8)))
    read_link(garbage(rng) if rng.random() < 0.1 else mutated(good, rng), tag)


def read_link(stream, tag):
    """Reads frames until the stream ends; memory is posted for three of this tag."""
    ours, theirs = socket.socketpair()
    link = Link(ours, MEMBER, {stream_of(tag): tag}, set())
    with theirs, contextlib.closing(link):
        theirs.sendall(stream)
        theirs.shutdown(socket.SHUT_WR)
        with contextlib.suppress(PeerError):
            for length in [100, 0, 3000]:
                link.post(Receipt(tag, memoryview(bytearray(length))))
            while True:
                link.read(time.monotonic())
        assert link.box.unexpected_bytes <= len(stream) + LONGEST_FRAME


def some_frame(tag, rng):
    other = tag_of(0, True, rng.getrandbits(10), "a message")
    told = json.dumps(error_to_json(PeerError(1, "here", "failed"))).encode()
    body, kind, tag = rng.choice([
        (bytes(rng.choice([100, 0, 3000])), Kind.DATA, tag),
        (rng.randbytes(rng.randint(0, 5000)), Kind.DATA, other),
        (b"", Kind.HEARTBEAT, rng.getrandbits(4)),
        (b"", Kind.GOODBYE, 0),
        (told, Kind.ABORT, 0),
    ])  # fmt: skip
    return pack_header(kind, tag, len(body)) + body


def listener(rng):
    """Fuzzes the handshake of an Endpoint with a member whose answer is altered in transit."""

    def answer(greeting):
        head = rng.randbytes(NONCE) + HELLO.pack(3, 5) + b"links"
        good = PROTOCOL + head + sign(SECRET, b"caller", greeting + head)
        sent = rng.choice([good, mutated(good, rng), mutated(good, rng), garbage(rng)])
        line.right = sent.startswith(good)
        return sent

    line = Line(answer)
    try:
        caller = examine(line, SECRET, Deadline(5))
        assert line.right and (caller.rank, caller.channel) == (3, "links")
    except (HandshakeRefused, OSError):
        assert not line.right


def caller(rng):
    """Fuzzes the handshake of a caller with a stranger that imitates a listener."""
    greeting = PROTOCOL + rng.randbytes(NONCE)
    verdict = bytes([rng.choice(list(Verdict))]) + rng.randbytes(MAC)
    stream = rng.choice([greeting + verdict, mutated(greeting + verdict, rng), garbage(rng)])
    try:
        introduce(Line(None, stream), SECRET, "links", rng.getrandbits(40), Deadline(5))
        raise AssertionError("a caller believed a stranger")
    except (HandshakeRefused, OSError):
        pass


class Line:
    """The part of a socket that a handshake uses; sent data may get an answer."""

    def __init__(self, answer, stream=b""):
        self.answer, self.stream, self.right = answer, bytearray(stream), False

    def settimeout(self, seconds):
        assert 0 < seconds <= 5

    def sendall(self, data):
        if self.answer:
            self.stream += self.answer(data)
            self.answer = None

    def recv(self, n):
        assert n <= 1024, "a stranger decides about memory"
        part = self.stream[:n]
        del self.stream[:n]
        return bytes(part)


def door(rng):
    """Fuzzes a whole Endpoint with a stranger; a member must still get in afterwards."""
    with socket.create_connection(endpoint().address, timeout=LONGEST) as sock:
        now = struct.pack("ii", 1, 0)  # resets the connection, so that no port stays in TIME_WAIT
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
        with contextlib.suppress(OSError):  # refused already
            sock.sendall(rng.choice([garbage(rng), mutated(PROTOCOL + bytes(NONCE), rng)]))
            if rng.random() < 0.5:
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1 << 16):
                    pass
    endpoint().connect(endpoint().address, "links", rank=5, timeout=LONGEST).close()
    rank, sock = endpoint().accept("links", timeout=LONGEST)
    sock.close()
    assert rank == 5 and threading.active_count() < 200


@functools.cache
def endpoint():
    return Endpoint(SECRET, timeout=LONGEST)


TARGETS = {
    target.__name__: target for target in (frame, message, wire, link, listener, caller, door)
}


def run(seconds, seed=0, names=tuple(TARGETS), watch=lambda: None):
    """Runs cases; all targets get the same time, and at least 20 cases each.

    Returns {target: number of cases}.
    """
    before = memory()

    def turn(name, counts):
        for _ in range(20):
            watch()
            case(name, seed, counts[name])
            counts[name] += 1
        assert memory() - before < BOUND, f"memory grew by {memory() - before} bytes at {counts}"

    return take_turns(seconds, names, turn)


def case(name, seed, number):
    try:
        TARGETS[name](random.Random(f"{name} {seed} {number}"))
    except BaseException:
        print(f"failed: --only {name} --seed {seed} --case {number}", file=sys.stderr)
        raise


def memory():
    """Returns the peak memory of this process in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main():
    given, names = fuzz_arguments(__doc__, TARGETS)
    if given.case is not None:
        return case(given.only, given.seed, given.case)
    watch = functools.partial(faulthandler.dump_traceback_later, LONGEST, exit=True)
    counts = run(60 * given.minutes, given.seed, names, watch)
    faulthandler.cancel_dump_traceback_later()
    if "door" in names:
        endpoint().close()
    print(f"no crash, no hang, {memory() >> 20} MB: {counts}")


if __name__ == "__main__":
    main()
