"""One rank fails in the middle of a sum: all other ranks get the same error."""

import os
import signal
import socket
import time
from threading import Thread

import numpy as np
import pytest

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.calls import progress_engine
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.group import Group
from sparkdl.exchange.links.link import LONGEST_FRAME, MOST_UNEXPECTED
from sparkdl.exchange.links.tag import tag_of
from sparkdl.exchange.messages.frame import Kind, pack_header
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from sparkdl.exchange.rendezvous.member import GroupMember
from tests.exchange.clock import Clock
from tests.exchange.crew import SECRET, crew
from tests.exchange.few_threads import no_thread

TIMEOUT = 3.0  # seconds; on a busy machine, a process without a core for so long would be blamed
CULPRIT = 1


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def summing(group, fault, when, background):
    """Sums repeatedly; a timer triggers the fault of one rank in the middle of a sum."""
    x = np.ones(2_000_000, np.float32)
    if group.rank == CULPRIT:
        signal.signal(signal.SIGALRM, lambda *_: fault())
        signal.setitimer(signal.ITIMER_REAL, when)
    end = time.monotonic() + 30
    with pytest.raises(PeerError) as caught:
        while time.monotonic() < end:
            group.start_all_reduce(x).wait() if background else group.all_reduce(x)
            x[...] = 1
    return str(caught.value), caught.value.rank


@pytest.mark.parametrize("memory", [False, True], ids=["sockets", "memory"])
@pytest.mark.parametrize("size, background", [(2, True), (4, False)], ids=["beside", "waiting"])
@pytest.mark.parametrize(
    "fault, what",
    [(die, "gone|hung up"), pytest.param(stop, "was silent for 3 s", marks=pytest.mark.slow)],
)
def test_a_killed_or_stopped_process_is_named_by_all_others(fault, what, size, background, memory):
    options = {"timeout": TIMEOUT, "spare": [CULPRIT], "shared_memory": memory}
    results = crew(size, summing, fault, 0.3, background, **options)
    for rank, result in enumerate(results):
        if rank != CULPRIT:
            text, culprit = result
            assert culprit == CULPRIT
            assert "all_reduce sum of 2000000 float32" in text
            assert any(word in text for word in what.split("|"))


def computing(group, seconds):
    """One rank computes for longer than the timeout; the others wait for it."""
    if group.rank == CULPRIT:
        time.sleep(seconds)
    return group.all_reduce(np.ones(5, np.float32))[0]


@pytest.mark.slow
@pytest.mark.parametrize("memory", [False, True], ids=["sockets", "memory"])
def test_a_rank_that_computes_for_long_is_waited_for(memory):
    assert crew(3, computing, 3.0, timeout=2.0, shared_memory=memory) == [3, 3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("memory", [False, True], ids=["sockets", "memory"])
def test_a_rank_that_never_comes_is_named_when_patience_ends(memory):
    limits = {"timeout": TIMEOUT, "stall_timeout": 4.0}
    results = crew(3, computing, 60.0, spare=[CULPRIT], shared_memory=memory, **limits)
    for result in (results[0], results[2]):
        assert isinstance(result, PeerError) and result.rank == CULPRIT
        assert "alive, but has not done its part for 4 s" in str(result)
        assert "awaited all_reduce sum of 5 float32" in str(result)


def cut(group):
    """Cuts the link between two ranks; a third one has working links to both."""
    if group.rank == CULPRIT:
        with socket.socket(fileno=os.dup(group._links[0].fileno())) as sock:
            sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(PeerError) as caught:
        group.all_reduce(np.ones(1_000_000))
    return caught.value.rank


def test_a_cut_link_ends_the_group_for_all():
    results = crew(3, cut, timeout=5.0, shared_memory=False)
    assert set(results) <= {0, 1}  # each end of it blames the other


GARBAGE = {
    "noise": bytes(range(100)),
    "length": pack_header(Kind.DATA, 0, 1 << 60),
    "kind": pack_header(Kind.MESSAGE, 0, 2) + b"{}",
    "abort": pack_header(Kind.ABORT, 0, 5) + b"[[[[[",
    "heartbeat": pack_header(Kind.HEARTBEAT, 0, 9) + bytes(9),
    "another call": pack_header(Kind.DATA, 0, 8) + bytes(8),
    "nothing": b"",
}


@pytest.mark.slow
@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
def test_who_sends_what_cannot_be_is_named(data):
    left, right = socket.socketpair()
    with Group.over({CULPRIT: left}, members("ab"), 0, timeout=1.0) as group, right:
        right.sendall(data)
        with pytest.raises(PeerError, match="rank 1 on b.* while rank 0 awaited all_reduce"):
            group.all_reduce(np.ones(100))


def test_who_was_not_there_takes_nobody_for_silent(monkeypatch):
    """As after the suspend of a whole machine, during which no process sent anything."""
    clock, (left, right) = Clock(), socket.socketpair()
    monkeypatch.setattr(progress_engine, "time", clock)
    tag, data = tag_of(0, True, 0, "a message of 3 float64 with tag 0"), np.arange(3.0).tobytes()
    with Group.over({CULPRIT: left}, members("ab"), 0, timeout=5.0) as group, right:
        turn, turns = group._progress.watch.turn, []

        def held_up(*arguments):
            clock.ahead += 100 * (not turns)
            if turns:
                right.sendall(pack_header(Kind.DATA, tag, len(data)) + data)
            turns.append(turn(0.1))

        monkeypatch.setattr(group._progress.watch, "turn", held_up)
        assert group.receive(np.zeros(3), CULPRIT).tolist() == [0, 1, 2]


@pytest.mark.slow
def test_what_comes_unasked_is_kept_up_to_a_bound():
    (left, right), (silent, other) = socket.socketpair(), socket.socketpair()
    frame = pack_header(Kind.DATA, tag_of(0, True, 5, "unasked"), LONGEST_FRAME) + bytes(
        LONGEST_FRAME
    )
    right.settimeout(2.0)
    with Group.over({1: left, 2: silent}, members("abc"), 0) as group, right, other:
        ended = Thread(target=fails_to_receive, args=(group, 2))
        ended.start()
        taken = 0
        with pytest.raises(TimeoutError):
            while taken < 10 * MOST_UNEXPECTED:
                taken += right.send(frame[taken % len(frame) :])
        assert MOST_UNEXPECTED < taken < 2 * MOST_UNEXPECTED
        other.shutdown(socket.SHUT_WR)
        ended.join()


def test_leaving_does_not_wait_for_who_has_hung_up():
    with socket.create_server(("127.0.0.1", 0)) as server:
        left = socket.create_connection(server.getsockname())
        server.accept()[0].close()
    group, start = Group.over({CULPRIT: left}, members("ab"), 0, timeout=60.0), time.monotonic()
    group.close()
    assert time.monotonic() - start < 30


def test_a_group_without_a_thread_for_its_calls_leaves_in_order(monkeypatch):
    left, right = socket.socketpair()
    with Group.over({0: right}, members("ab"), 1, timeout=5.0) as other:
        with no_thread(monkeypatch, "sparkdl-progress"):
            with Group.over({CULPRIT: left}, members("ab"), 0, timeout=5.0) as group:
                with pytest.raises(RuntimeError, match="start new thread"):
                    group.start_send(np.zeros(3), CULPRIT)
        with pytest.raises(PeerError, match="rank 0 on a.* has left the group"):
            other.receive(np.zeros(3), 0)


def fails_to_receive(group, source):
    with pytest.raises(PeerError, match=f"rank {source} .*hung up"):
        group.receive(np.zeros(3), source)


def members(hosts):
    common = {"address": "a", "port": 1, "machine": "m", "group": "g"}
    return [GroupMember(rank=rank, host=host, **common) for rank, host in enumerate(hosts)]


def unexpected(group):
    """One rank fails on its own; the others are told at once."""
    if group.rank == CULPRIT:
        raise ValueError("of its own")
    with pytest.raises(PeerError, match="rank 1"):
        group.all_reduce(np.ones(3))
    return "told"


@pytest.mark.parametrize("memory", [False, True], ids=["sockets", "memory"])
def test_a_rank_that_fails_by_itself_ends_the_wait_of_others(memory):
    results = crew(3, unexpected, shared_memory=memory)
    assert results[0] == results[2] == "told" and isinstance(results[1], ValueError)


@pytest.mark.slow
def test_another_secret_is_an_error_at_once_and_no_group_forms():
    results = crew(2, unexpected, secrets=[SECRET, b"this is not the one they have"], timeout=5.0)
    assert all(isinstance(result, WorkerError) for result in results)
    assert "the secrets differ" in str(results[1])


@pytest.mark.slow
def test_who_is_missing_is_named_when_a_group_forms(tmp_path):
    with pytest.raises(WorkerError, match="rank 1, 2"):
        Group.form(FileRendezvous(tmp_path, 0, 3), SECRET, timeout=0.5)


@pytest.mark.slow
def test_who_has_come_but_does_not_link_up_is_named(tmp_path):
    with Endpoint(SECRET) as endpoint:
        host, port = endpoint.address
        text = (
            f'{{"rank": 1, "host": "b", "address": "{host}", "port": {port}, '
            '"machine": "m", "group": "g"}'
        )
        (tmp_path / "0-1").write_text(text)
        with pytest.raises(PeerError, match="rank 1 on b: did not join the group within 0.5 s"):
            Group.form(FileRendezvous(tmp_path, 0, 2), SECRET, timeout=0.5)
