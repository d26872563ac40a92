"""A group over sockets, for each size: all ranks get the same, correct result."""

import socket
import threading
import time
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, PeerError, ShapeError, WorkerError
from sparkdl.exchange.collectives.algorithm import DOUBLING
from sparkdl.exchange.group import Group
from tests.exchange.crew import crew

SIZES = [1, 2, 3, *(pytest.param(size, marks=pytest.mark.slow) for size in (4, 5))]
TYPES = ["float32", "float64", "int64"]
LONG = 1_000_003  # a ring cuts it into pieces of different lengths


def lengths(size):
    return [0, 1, size - 1, size + 1, DOUBLING // 4, DOUBLING // 4 + 1, LONG]


def numbers(length, kind, rank):
    """Small whole numbers, whose sums are exact in any order."""
    return drawn(length, rank).astype(kind)


@cache  # drawing them took most of the time
def drawn(length, rank):
    return np.random.default_rng(rank).integers(-1000, 1000, length)


def checked(size, function, *arguments):
    """Returns the results of a crew; raises if one is an error."""
    results = crew(size, function, *arguments, shared_memory=False)
    for result in results:
        if isinstance(result, Exception):
            raise result
    assert not any(result is None for result in results)
    return results


def reduce_all(group):
    """Compares all reductions with numpy; returns the bytes of inexact sums."""
    for kind in TYPES:
        for length in lengths(group.size):
            vectors = [numbers(length, kind, rank) for rank in range(group.size)]
            for op, reduce in {"sum": np.sum, "max": np.max, "min": np.min}.items():
                x, expected = vectors[group.rank].copy(), reduce(vectors, axis=0)
                assert group.all_reduce(x, op) is x
                np.testing.assert_array_equal(x, expected, f"{op} {kind} {length}")
            own = group.part(length)
            x = group.reduce_scatter(vectors[group.rank].copy())
            np.testing.assert_array_equal(x, sum(vectors)[own])
    rough = [np.random.default_rng(group.rank).normal(size=n) for n in (1000, LONG)]
    pending = [group.start_reduce_scatter(x.copy()) for x in rough]
    parts = [call.wait() for call in pending]
    sums = [group.all_reduce(x) for x in rough]
    for part, x in zip(parts, sums, strict=True):
        assert part.tobytes() == x[group.part(len(x))].tobytes()
    return [x.tobytes() for x in sums]


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_reductions(size):
    first, *others = checked(size, reduce_all)
    assert all(other == first for other in others)


def gather_all(group):
    for length in lengths(group.size):
        whole = numbers(length, "float32", 7)
        out = np.zeros_like(whole)
        assert group.all_gather(whole[group.part(length)], out) is out
        np.testing.assert_array_equal(out, whole)
        outs = [np.zeros_like(whole) for _ in range(3)]
        pending = [group.start_all_gather(whole[group.part(length)], out) for out in outs]
        for call, out in zip(pending, outs, strict=True):
            assert call.wait() is out
            np.testing.assert_array_equal(out, whole)
    for longest in (0, 10, 3_000_000):
        texts = [bytes([rank]) * (longest * rank // group.size) for rank in range(group.size)]
        assert [bytes(text) for text in group.all_gather_bytes(texts[group.rank])] == texts
        mine, theirs = (
            [bytes([one, other]) * (longest // (1 + one + other)) for one, other in pairs]
            for pairs in (
                [(group.rank, rank) for rank in range(group.size)],
                [(rank, group.rank) for rank in range(group.size)],
            )
        )
        assert [bytes(text) for text in group.all_to_all_bytes(mine)] == theirs
        pending = group.start_ask(mine, echo)
        assert [bytes(text) for text in group.ask(mine, echo)] == [own + b"!" for own in mine]
        assert [bytes(text) for text in pending.wait()] == [own + b"!" for own in mine]
    return True


def echo(requests):
    return [bytes(request) + b"!" for request in requests]


def broadcast_all(group):
    for length in lengths(group.size):
        for root in range(group.size):
            x = numbers(length, "float64", group.rank)
            assert group.broadcast(x, root) is x
            np.testing.assert_array_equal(x, numbers(length, "float64", root))
    return True


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("function", [gather_all, broadcast_all])
def test_gathering_and_broadcasting(size, function):
    checked(size, function)


def messages(group):
    """All ranks send to all others under two tags, received in reverse; long messages cross."""
    for length in (0, 5, LONG):
        others = [rank for rank in range(group.size) if rank != group.rank]
        for tag in (1, 2):
            for other in others if length < LONG else ():
                group.send(numbers(length, "float32", group.rank) + tag, other, tag)
        for tag in (2, 1):
            for other in others if length < LONG else ():
                x = group.receive(np.zeros(length, np.float32), other, tag)
                np.testing.assert_array_equal(x, numbers(length, "float32", other) + tag)
    if group.rank:
        group.send(numbers(LONG, "int64", group.rank), 0)
        return True
    for other in range(1, group.size):
        x = group.receive(np.zeros(LONG, np.int64), other)
        np.testing.assert_array_equal(x, numbers(LONG, "int64", other))
    return True


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_messages(size):
    checked(size, messages)


def in_flight(group):
    """Starts many sums, makes other calls, then waits for the sums in reverse order."""
    vectors = [numbers(10 ** (1 + i % 6), "float32", i + group.rank) for i in range(30)]
    pending = [group.start_all_reduce(x) for x in vectors]
    small = group.all_reduce(np.ones(3, np.float32))
    for i, call in reversed(list(enumerate(pending))):
        expected = sum(numbers(10 ** (1 + i % 6), "float32", i + r) for r in range(group.size))
        np.testing.assert_array_equal(call.wait(), expected)
        assert call.is_done
    np.testing.assert_array_equal(small, np.full(3, group.size))
    group.barrier()
    return group.sent_bytes


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 4])
def test_calls_in_flight_at_the_same_time(size):
    sent = checked(size, in_flight)
    assert all(bytes_ > 1_000_000 for bytes_ in sent) or size == 1


def split_up(group):
    """Sub-groups of even and odd ranks, and their own sub-groups, work at the same time."""
    half = group.split(group.rank % 2)
    x = half.all_reduce(np.full(100_000, group.rank, np.float32))
    alone = half.split(half.rank)
    alone.all_reduce(x)
    whole = group.all_reduce(x[:1].copy())
    half.close()
    group.barrier()
    return half.rank, half.size, alone.size, x[0], x[-1], whole[0]


@pytest.mark.slow
def test_sub_groups():
    assert checked(5, split_up) == [
        (rank // 2, 2 if rank % 2 else 3, 1, [6, 4][rank % 2], [6, 4][rank % 2], 3 * 6 + 2 * 4)
        for rank in range(5)
    ]


def refused(group):
    x = np.zeros((4, 4), np.float32)
    refusals = [
        (lambda: group.all_reduce(x.astype(np.float16)), ShapeError, "takes arrays of .*float16"),
        (lambda: group.all_reduce(x.T[1:]), ShapeError, "contiguous"),
        (lambda: group.all_reduce([1.0]), ShapeError, "takes arrays of .*got list"),
        (lambda: group.all_reduce(x, "mean"), ConfigError, "op must be one of"),
        (lambda: group.broadcast(x, root=2), ConfigError, "from 0 to 1, got 2"),
        (lambda: group.send(x, group.rank), ConfigError, "other than .*which is this one"),
        (lambda: group.send(x, 1 - group.rank, tag=-1), ConfigError, "tag must be"),
        (lambda: group.all_gather(x[0], np.zeros(20, np.float32)), ConfigError, "part of rank"),
    ]
    for call, error, text in refusals:
        with pytest.raises(error, match=text):
            call()
    return group.all_reduce(x + 1).sum()  # a refused call sends nothing, so the group goes on


@pytest.mark.slow
def test_what_cannot_be_sent_is_refused_and_does_no_harm():
    assert checked(2, refused) == [32, 32]


def differing(group, call):
    x = np.zeros(4, np.int64 if group.rank == 1 else np.float64)
    if call == "another length":
        x = np.zeros(70_000 if group.rank == 1 else 6, np.float32)
    elif call == "another call" and group.rank == 1:
        return group.broadcast(x)
    return group.all_reduce(x)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["another type", "another length", "another call"])
def test_ranks_whose_calls_differ_all_get_an_error(call):
    results = crew(3, differing, call, shared_memory=False)
    assert [type(result) for result in results] == [PeerError] * 3
    assert all("all ranks must make the same calls" in str(result) for result in results)


def waiting(group):
    """Rank 2, which would send first, awaits a broadcast instead: no rank has sent anything."""
    x = np.zeros(6, np.float32)
    return group.broadcast(x) if group.rank == 2 else group.all_reduce(x)


@pytest.mark.slow
def test_ranks_that_wait_for_each_other_in_calls_that_differ_give_up_after_patience():
    began = time.monotonic()
    results = crew(3, waiting, shared_memory=False, stall_timeout=2.0)
    assert [type(result) for result in results] == [PeerError] * 3
    assert all("do all ranks make the same calls?" in str(result) for result in results)
    assert time.monotonic() - began < 200  # else 600


def read_slowly(sock, nbytes, seconds):
    """Reads `nbytes` from a socket at an even pace."""
    left, steps = nbytes, 50
    while left > 0:
        left -= len(sock.recv(min(left, nbytes // steps), socket.MSG_WAITALL))
        time.sleep(seconds / steps)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["send", "broadcast"])
def test_a_transfer_that_takes_longer_than_the_patience_goes_on(verb):
    """The call has handed all of its frames over, and only the peer's reading shows progress."""
    sock, peer = socket.socketpair()
    members = [SimpleNamespace(rank=rank, host=f"host {rank}") for rank in range(2)]
    x = np.zeros(2_000_000)
    with Group.over({1: sock}, members, 0, timeout=4.0, stall_timeout=0.8) as group, peer:
        reading = threading.Thread(target=read_slowly, args=(peer, x.nbytes, 2.5))
        reading.start()
        group.send(x, 1) if verb == "send" else group.broadcast(x)
        reading.join()


def closed_early(group):
    if group.rank == 1:
        return None
    with pytest.raises(PeerError, match="rank 1 on .* has left the group"):
        group.all_reduce(np.ones(3))
    with pytest.raises(PeerError, match="rank 1 .*group can no longer be used"):
        group.barrier()
    group.close()
    with pytest.raises(WorkerError, match="closed on rank 0"):
        group.barrier()
    with pytest.raises(WorkerError, match="closed on rank 0"):
        group.start_all_reduce(np.ones(3)).wait()
    return "told"


def test_who_leaves_early_is_named_and_so_is_a_closed_group():
    assert crew(2, closed_early, shared_memory=False) == ["told", None]


def last_words(group):
    """Rank 0 sends and leaves; rank 1 reads late, after its heartbeats have found no peer."""
    x = np.arange(3_000_000, dtype=np.float32)
    if group.rank == 0:
        return group.send(x, 1)
    time.sleep(1.5)
    return np.array_equal(group.receive(np.zeros_like(x), 0), x)


@pytest.mark.slow
def test_what_was_sent_before_leaving_arrives():
    assert crew(2, last_words, timeout=4.0) == [None, True]
