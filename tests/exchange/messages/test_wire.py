"""Messages arrive as sent; a peer that is gone, silent or hostile is an error in time."""

import socket
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError, PeerError
from sparkdl.exchange.messages import byte_stream
from sparkdl.exchange.messages.frame import HEADER, Kind, pack_header
from sparkdl.exchange.messages.message import TYPES
from sparkdl.exchange.messages.wire import Wire
from tests.exchange.clock import Clock
from tests.exchange.pairs import wire_and_socket, wires

MESSAGES = {
    "nothing": ({}, []),
    "text": ({"round": 3, "loss": 0.5, "name": "é", "none": None, "list": [1, [2]]}, []),
    "vectors": ({"a": 1}, [np.arange(5, dtype=np.float32), np.arange(6.0).reshape(2, 3)]),
    "empty arrays": ({}, [np.empty(0, np.float32), np.empty((3, 0, 2)), np.array(7, np.int64)]),
    "strided": ({}, [np.arange(20).reshape(4, 5)[::2, 1:4], np.arange(3, dtype=">f8")]),
    "more than the buffers hold": ({}, [np.arange(3_000_000, dtype=np.float64)]),
    "many": ({}, [np.full(3, i, np.int16) for i in range(300)]),
    **{name: ({}, [np.ones(3, name)]) for name in sorted(TYPES)},
}


@pytest.fixture
def tcp():
    """Two Wires over TCP, which closes in ways that a socketpair does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname(), timeout=5)
        there, _ = server.accept()
    with Wire(here, "here", 5.0) as a, Wire(there, "there", 5.0) as b:
        yield a, b


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_arrives_as_it_was_sent(name):
    meta, arrays = MESSAGES[name]
    with wires() as (a, b):
        sender = threading.Thread(target=a.send, args=(meta, *arrays))
        sender.start()
        got_meta, got = b.receive()
        sender.join(5)
    assert got_meta == meta
    assert len(got) == len(arrays)
    for mine, sent in zip(got, arrays):
        np.testing.assert_array_equal(mine, sent)
        assert mine.dtype == sent.dtype.newbyteorder("<")


def test_bytes_arrive_as_uint8():
    with wires() as (a, b):
        a.send({}, b"abc", bytearray(b""))
        _, (full, empty) = b.receive()
    assert full.tobytes() == b"abc"
    assert empty.size == 0


def test_arrays_go_into_given_memory():
    with wires() as (a, b):
        a.send({"n": 1}, np.arange(4, dtype=np.float32).reshape(2, 2), np.ones(2))
        whole = np.zeros(6, np.float32)
        rest = np.zeros(2)
        meta, arrays = b.receive(into=[whole[1:5], rest])
    assert meta == {"n": 1}
    assert whole.tolist() == [0, 0, 1, 2, 3, 0]
    assert arrays[1] is rest and rest.tolist() == [1, 1]


@pytest.mark.parametrize("into", [[], [np.zeros(3)], [np.zeros(4, np.float32)]])
def test_arrays_that_do_not_fit_are_refused(into):
    with wires() as (a, b):
        a.send({}, np.zeros(4))
        with pytest.raises(PeerError, match="were due, got"):
            b.receive(into=into)


def test_memory_to_receive_into_must_be_one_piece():
    with wires() as (_, b), pytest.raises(ConfigError, match="contiguous"):
        b.receive(into=[np.zeros((4, 4))[:, 1]])


def test_many_may_send_at_once():
    with wires() as (a, b):
        threads = [
            threading.Thread(target=a.send, args=({"n": n}, np.full(50_000, n))) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        got = [b.receive() for _ in threads]
    assert sorted(meta["n"] for meta, _ in got) == [0, 1, 2, 3]
    assert all((array == meta["n"]).all() for meta, [array] in got)


@pytest.mark.slow
def test_the_last_word_arrives_although_heartbeats_lie_unread(tcp):
    a, b = tcp
    for _ in range(100):
        b.beat()
    big = np.ones(300_000)
    talker = threading.Thread(target=lambda: (a.send({"last": True}, big), a.finish()))
    talker.start()
    time.sleep(0.3)
    meta, [array] = b.receive()
    assert meta == {"last": True} and array.sum() == big.size
    with pytest.raises(PeerError, match="hung up"):
        b.receive()
    b.close()
    talker.join(5)
    assert not talker.is_alive()
    with pytest.raises(PeerError, match="closed on this side"):
        a.receive()


def test_finishing_waits_for_a_deaf_peer_no_longer_than_the_limit():
    with wire_and_socket() as (wire, _):
        wire.finish(timeout=0.1)
        wire.finish(timeout=0.1)


def test_finishing_goes_beside_a_thread_that_receives():
    with wires() as (a, b):
        failed = []
        waiting = threading.Thread(target=lambda: failed.append(refused(a)))
        waiting.start()
        heard(a, b)
        a.send({"last": True})
        ending = threading.Thread(target=a.finish)
        ending.start()
        assert b.receive()[0] == {"last": True}
        b.close()
        for thread in (waiting, ending):
            thread.join(5)
            assert not thread.is_alive()
        assert "hung up" in failed[0]


def test_what_is_no_array_of_numbers_is_not_sent():
    with wires() as (a, b):
        with pytest.raises(DataError, match="must have a type of"):
            a.send({}, np.array(["text"]))
        with pytest.raises(DataError, match="at most 1048576 bytes of JSON"):
            a.send({"text": "x" * (1 << 20)})
        a.send({"still": "works"})
        assert b.receive()[0] == {"still": "works"}


# Peers in trouble


def test_a_peer_that_hung_up_is_named_with_what_was_awaited():
    with wire_and_socket() as (wire, sock):
        sock.close()
        with pytest.raises(PeerError, match="rank 3 on the peer's host: hung up while the sum"):
            wire.receive(waiting_for="the sum")
        with pytest.raises(PeerError, match="has a broken connection: hung up"):
            wire.receive()


@pytest.mark.slow
def test_a_silent_peer_is_an_error_at_the_limit():
    with wire_and_socket(timeout=0.4) as (wire, _):
        with pytest.raises(PeerError, match="was silent for 0.4 s while a message was awaited"):
            wire.receive()


def test_a_silent_peer_is_seen_by_one_who_only_looks_now_and_then():
    with wire_and_socket(timeout=60.0) as (wire, sock):
        sock.sendall(pack_header(Kind.HEARTBEAT))
        wire._stream._last_received -= 61
        assert not wire.ready()  # its heartbeat had come, so it was not silent
        wire._stream._last_received -= 61
        with pytest.raises(PeerError, match="was silent for 60 s while the report was awaited"):
            wire.ready(waiting_for="the report")


def test_who_was_not_there_takes_nobody_for_silent(monkeypatch):
    """As after the suspend of a whole machine, during which no process sent anything."""
    clock, polls = Clock(), []
    monkeypatch.setattr(byte_stream, "time", clock)
    with wire_and_socket(timeout=5.0) as (wire, sock):

        def poll(milliseconds):
            clock.ahead += 100 * (not polls)
            if polls:
                sock.sendall(pack_header(Kind.MESSAGE, length=len(TWO)) + TWO)
            polls.append(milliseconds)

        monkeypatch.setattr(wire._stream, "_readable", SimpleNamespace(poll=poll))
        assert wire.receive() == ({"n": 2}, [])


@pytest.mark.slow
def test_heartbeats_keep_a_peer_that_has_nothing_to_say():
    with wires(timeout=2.0) as (a, b):
        late = threading.Timer(3.0, a.send, args=({"late": True},))
        late.start()
        assert b.receive()[0] == {"late": True}


@pytest.mark.slow
def test_a_message_that_does_not_begin_in_time_is_an_error_and_may_come_later():
    with wires(timeout=5) as (a, b):
        with pytest.raises(PeerError, match="sent nothing within 0.1 s"):
            b.receive(timeout=0.1)
        assert not b.ready()
        a.beat()
        assert not b.ready(0.1)
        a.send({"n": 1})
        assert b.ready(5) and b.ready()
        assert b.receive(timeout=0.1)[0] == {"n": 1}


@pytest.mark.slow
def test_a_peer_that_takes_nothing_is_an_error_at_the_limit():
    with wire_and_socket(timeout=0.4) as (wire, _):
        with pytest.raises(PeerError, match="accepted nothing for 0.4 s"):
            wire.send({}, np.zeros(10_000_000))
        with pytest.raises(PeerError, match="has a broken connection"):
            wire.send({})


@pytest.mark.slow
def test_a_peer_that_stops_in_the_middle_is_an_error():
    with wire_and_socket(timeout=0.4) as (wire, sock):
        sock.sendall(pack_header(Kind.MESSAGE, length=100) + b"{")
        with pytest.raises(PeerError, match="was silent for 0.4 s"):
            wire.receive()


def test_closing_ends_a_wait_in_another_thread():
    failed = []
    with wires() as (a, b):
        waiting = threading.Thread(target=lambda: failed.append(refused(a)))
        waiting.start()
        heard(a, b)
        a.close()
        waiting.join(5)
    assert failed


def heard(wire, peer):
    """Returns once a thread receiving on a wire has processed a heartbeat of its peer."""
    before = wire._stream._last_received
    peer.beat()
    while wire._stream._last_received == before:
        time.sleep(0.001)


def refused(wire):
    with pytest.raises(PeerError) as error:
        wire.receive()
    return str(error.value)


def test_a_full_peer_costs_a_heartbeat_no_time_and_breaks_no_message():
    with wire_and_socket() as (wire, sock):
        wire.beat()
        beats = 1
        while wire._stream._writable.poll(0):
            wire.beat()
            beats += 1
        wire.beat()  # the socket is full
        reader = threading.Thread(target=wire.send, args=({"end": 1},))
        reader.start()
        data = b""
        while not data.endswith(b"}"):
            data += sock.recv(1 << 20)
        reader.join(5)
    assert data.startswith(pack_header(Kind.HEARTBEAT) * beats)
    assert HEADER.unpack(data[-len(b'{"meta":{"end":1},"arrays":[]}') - 24 :][:24])[1] == 2


TWO = b'{"meta":{"n":2},"arrays":[]}'
HOSTILE = {
    "garbage": b"GET / HTTP/1.1\r\nHost: somewhere\r\n",
    "a long text": pack_header(Kind.MESSAGE, length=1 << 40),
    "another kind": pack_header(Kind.DATA, length=8),
    "a heartbeat with a body": pack_header(Kind.HEARTBEAT, length=8),
    "no JSON": b"{nonsense",
    "no object": b"[1]",
    "no meta": b'{"arrays":[]}',
    "meta of another type": b'{"meta":[],"arrays":[]}',
    "deep": b"[" * 100_000,
    "long number": b'{"meta":{},"arrays":[["<f4",[' + b"9" * 10_000 + b"]]]}",
    "too much": b'{"meta":{},"arrays":[["<f4",[1000000000]]]}',
    "negative": b'{"meta":{},"arrays":[["<f4",[-1,-1]]]}',
    "objects": b'{"meta":{},"arrays":[["|O",[1]]]}',
    "text": b'{"meta":{},"arrays":[["<U4",[1]]]}',
    "a record": b'{"meta":{},"arrays":[[[["a","<f4"]],[1]]]}',
    "a fraction": b'{"meta":{},"arrays":[["<f4",[1.5]]]}',
    "true": b'{"meta":{},"arrays":[["<f4",[true]]]}',
    "none, of a size that cannot be": b'{"meta":{},"arrays":[["<f4",[0'
    + b",140737488355328" * 2
    + b"]]]}",
    "none, over many axes": b'{"meta":{},"arrays":[["<f4",[0' + b",140737488355328" * 21 + b"]]]}",
    "many axes": b'{"meta":{},"arrays":[["<f4",[' + b"1," * 40 + b"1]]]}",
    "many arrays": b'{"meta":{},"arrays":[' + b'["<f4",[1]],' * 5000 + b'["<f4",[1]]]}',
    "no bytes of text": b"\xff\xfe",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_is_refused(name):
    sent = HOSTILE[name]
    if not sent.startswith((b"SDL1", b"GET")):
        sent = pack_header(Kind.MESSAGE, length=len(sent)) + sent
    with wire_and_socket(limit=1 << 30) as (wire, sock):
        sock.sendall(sent)
        with pytest.raises(PeerError, match="rank 3 on the peer's host: sent an invalid message"):
            wire.receive()
