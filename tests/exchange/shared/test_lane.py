"""Collectives through shared memory: sums, their order, and the loss of a member."""

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from functools import cache, reduce
from pathlib import Path

import numpy as np
import pytest

from sparkdl.errors import PeerError, UnsupportedError
from sparkdl.exchange.collectives.algorithm import DOUBLING
from sparkdl.exchange.collectives.pieces import equal_bounds
from sparkdl.exchange.shared import futex, peer_watch
from sparkdl.exchange.shared import lane as lane_module
from sparkdl.exchange.shared.call import KINDS, SharedCall
from sparkdl.exchange.shared.discovery import _machines, _sound, find_memory
from sparkdl.exchange.shared.memory import SharedMemory, layout_of
from sparkdl.exchange.shared.segment import NAME, Segment
from tests.exchange.clock import Clock
from tests.exchange.machine import machine, results

SIZES = [2, 3, pytest.param(5, marks=pytest.mark.slow)]
COUNTS = [0, 1, 4, 6, 1000, 60_001, 300_001]
UFUNCS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def vector(count, dtype, rank):
    return wave(count, dtype, rank).copy()


@cache  # computing these sines took most of the time
def wave(count, dtype, rank):
    return (np.sin(np.arange(count) + 1000 * rank) * 100).astype(dtype)


def total(count, dtype, size, op):
    """Sums in pairs or in chunks; the order is part of the contract, so bits must agree."""
    vectors, add = [vector(count, dtype, rank) for rank in range(size)], UFUNCS[op]
    if vectors[0].nbytes > DOUBLING:
        return in_chunks(vectors, equal_bounds(count, size), op)
    first, *others = vectors
    if size == 5:
        a, b, c, d = others
        return add(add(add(first, d), a), add(b, c))
    return reduce(add, [first, *reversed(others)])


def in_chunks(vectors, bounds, op):
    """Sums each owner's chunk from the next member's part around to its own; the rest is 0."""
    result = np.zeros_like(vectors[0])
    for owner, (start, stop) in enumerate(bounds):
        parts = [v[start:stop] for v in (*vectors[owner + 1 :], *vectors[: owner + 1])]
        result[start:stop] = reduce(UFUNCS[op], parts)
    return result


# What each process runs


def sum_everything(memory, rank, size):
    lane, wrong = memory.lanes[0], []
    for count in COUNTS:
        for dtype in ("float32", "float64", "int64"):
            for op in UFUNCS:
                x = vector(count, dtype, rank)
                lane.all_reduce(x, op)
                if x.tobytes() != total(count, dtype, size, op).tobytes():
                    wrong.append((count, dtype, op))
    return wrong


def sum_everything_in_turns(memory, rank, size):
    """Adds in turns, as when many members have short vectors too large for each to add alone."""
    lane_module.AT_ONCE = 0
    return sum_everything(memory, rank, size)


def scatter_everything(memory, rank, size):
    lane, wrong = memory.lanes[1], []
    for count in COUNTS:
        for owners in range(1, size + 1):
            bounds = equal_bounds(count, owners)
            x = vector(count, "float32", rank)
            lane.reduce_scatter(x, bounds)
            expected = vector(count, "float32", rank)
            if rank < owners:
                mine = slice(*bounds[rank])
                vectors = [vector(count, "float32", member) for member in range(size)]
                expected[mine] = in_chunks(vectors, bounds, "sum")[mine]
            if x.tobytes() != expected.tobytes():
                wrong.append((count, owners))
    return wrong


def gather_everything(memory, rank, size):
    lane, wrong = memory.lanes[0], []
    for count in COUNTS:
        uneven = [(count * i // size // 2, count * (i + 1) // size // 2) for i in range(size)]
        for bounds in (equal_bounds(count, size), uneven, [*[(0, 0)] * (size - 1), (0, count)]):
            x, expected = vector(count, "float64", rank), vector(count, "float64", rank)
            lane.all_gather(x, bounds)
            for owner, (start, stop) in enumerate(bounds):
                expected[start:stop] = vector(count, "float64", owner)[start:stop]
            if x.tobytes() != expected.tobytes():
                wrong.append((count, bounds))
    return wrong


def everything(memory, rank, size):
    return [
        wrong
        for task in (sum_everything, scatter_everything, gather_everything)
        for wrong in task(memory, rank, size)
    ]


def both_lanes_at_once(memory, rank, size):
    """Two threads each use a lane of their own, in any order."""
    sums = {}

    def work(number, count):
        for _ in range(20):
            x = np.full(count, rank + number, np.int64)
            memory.lanes[number].all_reduce(x)
            sums.setdefault(number, set()).update(x.tolist())

    threads = [threading.Thread(target=work, args=job) for job in ((0, 70_000), (1, 3))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return sums


def slots_of_one_number(memory, rank):
    """Counts wrong sums, which occur if members overwrite slots before others have read them."""
    lane, wrong = memory.lanes[0], 0
    for turn in range(2000):
        x = np.array([turn * (rank + 1)], np.int64)
        lane.all_reduce(x)
        wrong += x[0] != turn * 3
        time.sleep(0.001 if turn % 300 == rank else 0)
    return wrong


def sum_until(memory, rank, loser, how):
    """Sums endlessly; `loser` calls `how` in the middle."""
    x = np.ones(300_000, np.float32)
    for turn in range(100_000):
        if rank == loser and turn == 20:
            how(memory)
        memory.lanes[0].all_reduce(x)


def kill(memory):
    os.kill(os.getpid(), signal.SIGKILL)


def stop(memory):
    os.kill(os.getpid(), signal.SIGSTOP)


def dawdle(memory):
    time.sleep(60)


def leave(memory):
    memory.close()
    time.sleep(60)


def tell(memory):
    memory.fail(PeerError(7, "far", "is gone while a sum was awaited"))
    time.sleep(60)


def fail_twice(memory, rank):
    if rank == 1:
        memory.fail(ValueError("no memory"))
    errors = []
    for _ in range(2):
        with pytest.raises(PeerError) as caught:
            memory.lanes[0].barrier()
        errors.append(str(caught.value))
    return errors


def disagree(memory, rank, calls):
    getattr(memory.lanes[0], calls[rank][0])(*calls[rank][1:])


# Tests


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_results_are_those_of_one_process(size, tmp_path):
    assert results(tmp_path, size, everything, size) == [[]] * size


@pytest.mark.slow
def test_results_of_turns_are_the_same(tmp_path):
    assert results(tmp_path, 3, sum_everything_in_turns, 3) == [[]] * 3


def test_lanes_do_not_disturb_each_other(tmp_path):
    assert results(tmp_path, 3, both_lanes_at_once, 3) == [{0: {3}, 1: {6}}] * 3


@pytest.mark.slow
def test_members_wait_for_each_other(tmp_path):
    assert results(tmp_path, 2, slots_of_one_number) == [0, 0]


LOSSES = {
    kill: "rank 1 on this machine: is gone while rank",
    stop: "rank 1 on this machine: was silent for 3 s while rank",
    dawdle: "rank 1 on this machine: is alive, but has not done its part for 5 s while rank",
    leave: "rank 1 on this machine: has left the group while rank",
    tell: "rank 7 on far: is gone while a sum was awaited",
}


WAITS = {stop, dawdle}  # for seconds


@pytest.mark.parametrize(
    "how",
    [pytest.param(how, marks=[pytest.mark.slow] * (how in WAITS)) for how in LOSSES],
    ids=lambda how: how.__name__,
)
def test_a_lost_member_is_named_on_every_other(how, tmp_path):
    with machine(tmp_path, 3, sum_until, 1, how, timeout=3.0, stall_timeout=5.0) as answer:
        for rank in (0, 2):
            error = answer(rank)
            assert isinstance(error, PeerError) and LOSSES[how] in str(error)
            assert how is tell or "awaited all_reduce sum of 300000 float32" in str(error)


@contextmanager
def two_members():
    """The memories of two members, both in this process."""
    layout, hosts = layout_of(2, 1), {0: "this machine", 1: "this machine"}
    segments = [first := Segment.create(), Segment.open(first.path, first.token)]
    first.allocate(layout.nbytes)
    for member, segment in enumerate(segments):
        segment.hold(member)
    memories = [SharedMemory(s, me, [0, 1], hosts, 60.0, 600.0, 1) for me, s in enumerate(segments)]
    yield memories
    for memory in memories:
        memory.close()


@pytest.mark.slow
def test_who_comes_and_leaves_while_it_is_looked_for_has_come(monkeypatch):
    with two_members() as (memory, other):

        def come_and_leave(step):
            if not other._watch.has_left:
                other.lanes[0].barrier()
                other.leave()
            return [1]

        monkeypatch.setattr(memory.lanes[0]._steps, "_missing", come_and_leave)
        memory.lanes[0].barrier()
        with pytest.raises(PeerError, match="rank 1 on this machine: has left the group"):
            memory.lanes[0].barrier()


@pytest.mark.slow
def test_who_was_not_there_takes_nobody_for_silent(monkeypatch):
    clock, looks = Clock(), []
    monkeypatch.setattr(peer_watch, "time", clock)
    with two_members() as (memory, other):

        def missing(step):
            looks.append(step)
            clock.ahead += 100 * (len(looks) == 2)
            if len(looks) == 3:
                other.lanes[0].barrier()
            return [1]

        monkeypatch.setattr(memory.lanes[0]._steps, "_missing", missing)
        memory.lanes[0].barrier()


def test_a_failure_stays(tmp_path):
    told = "rank 1 on this machine: no memory"
    assert results(tmp_path, 2, fail_twice) == [[told, told]] * 2


@pytest.mark.parametrize(
    "calls, complaint",
    [
        ([("barrier",), ("all_reduce", np.ones(3))], "rank 1 on this machine: entered all_reduce"),
        ([("all_reduce", np.ones(3)), ("all_reduce", np.ones(300_000))], "of 300000 float64"),
        ([("all_reduce", np.ones(3)), ("all_reduce", np.ones(3, np.float32))], "of 3 float32"),
        ([("all_gather", np.ones(3), [(0, 1)]), ("all_gather", np.ones(3), [(0, 2)])], "parts"),
    ],
)
def test_members_who_disagree_are_told(calls, complaint, tmp_path):
    with machine(tmp_path, 2, disagree, calls) as answer:
        errors = [answer(rank) for rank in range(2)]
    assert all(isinstance(error, PeerError) and error.rank == 1 for error in errors)
    with pytest.raises(PeerError, match=complaint):
        raise errors[0]


def test_a_call_is_one_number():
    call = SharedCall.about(KINDS[-1], np.empty(5, np.uint8), [(0, 5)])
    assert SharedCall.unpack(call.pack()) == call
    assert SharedCall(15, 15, 2**12 - 1, 2**42 - 1).pack() < 2**63


def test_other_types_are_refused():
    with pytest.raises(UnsupportedError, match="float32, float64, int64, uint8, got complex128"):
        SharedCall.about("barrier", np.empty(0, complex))


# Who shares memory


def test_memory_is_known_by_its_token(tmp_path):
    segment = Segment.create()
    other = Segment.open(segment.path, segment.token)
    assert other.token == segment.token
    assert Segment.open(segment.path, "00" * 16) is None
    with (tmp_path / "file").open("w") as file:
        assert Segment.open(f"/proc/self/fd/{file.fileno()}", segment.token) is None
    assert Segment.open("/proc/self/fd/999999", segment.token) is None
    segment.close()
    other.close()


def test_a_segment_that_cannot_be_used_is_closed(monkeypatch):
    segment = Segment.create()

    def fail(*given):
        raise OSError(28, "No space left on device")

    before = open_segments()
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(os, "write", fail)
        Segment.create()
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(os, "pread", fail)
        Segment.open(segment.path, "00" * 16)
    assert open_segments() == before
    segment.close()


def test_a_lock_shows_who_lives():
    segment = Segment.create()
    other = Segment.open(segment.path, segment.token)
    segment.hold(3)
    assert other.is_held(3) and not other.is_held(2)
    segment.close()
    assert not other.is_held(3)
    other.close()


@pytest.mark.parametrize(
    "leaders, machines",
    [
        ([0, 0, 0], [[0, 1, 2]]),
        ([0, 1, 0, 1], [[0, 2], [1, 3]]),
        ([0, 0, 1], [[0, 1], [2]]),  # rank 2 sees the memory of rank 1, but not that of rank 0
    ],
)
def test_machines_are_those_who_took_the_same_memory(leaders, machines):
    assert _machines(leaders) == machines


def test_without_shared_memory_everyone_is_alone(monkeypatch):
    monkeypatch.setattr(futex, "is_supported", lambda: False)
    texts = {"null": ["null", "null"], "1": ["0", "1"], "": ["", ""]}
    assert find_memory(1, texts.__getitem__, []) == ([[0], [1]], None)


def test_memory_is_given_back_if_a_member_is_lost_while_it_is_looked_for():
    texts = [["null", "null"], ["0", "1"]]

    def gather(text):
        if not texts:
            raise PeerError(0, "host", "connection closed")
        return texts.pop(0)

    before = open_segments()
    with pytest.raises(PeerError, match="connection closed"):
        find_memory(1, gather, [])
    assert open_segments() == before


def open_segments():
    """Returns the descriptors of this process's segments, {descriptor: what it links to}."""
    links = {}
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # other threads close files, and this iteration its folder
            links[path.name] = os.readlink(path)
    return {number: link for number, link in links.items() if link.startswith(f"/memfd:{NAME}")}


def test_a_machine_that_lacks_memory_is_taken_apart(caplog):
    complaints = ["", "", "rank 2: no memory", ""]
    assert list(_sound([[0, 3], [1, 2]], complaints)) == [[0, 3], [1], [2]]
    assert "ranks [1, 2] exchange over sockets" in caplog.text and "no memory" in caplog.text
