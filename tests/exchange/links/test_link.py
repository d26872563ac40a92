"""Order and size of a link's reads."""

import fcntl
import select
import socket
import sys
import termios
import time

import pytest

from sparkdl.errors import PeerError
from sparkdl.exchange.links.link import Link
from sparkdl.exchange.links.mailbox import Receipt
from sparkdl.exchange.links.tag import stream_of, tag_of
from sparkdl.exchange.messages.frame import Kind, pack_header
from sparkdl.exchange.rendezvous.member import GroupMember

MEMBER = GroupMember(rank=1, host="there", address="::1", port=1, machine="m", group="g")
TAG = tag_of(0, False, 0, "a call")
LENGTH = 40_000  # fits into any socket buffer


@pytest.fixture
def ends():
    """A Link over TCP, and the bare socket of its peer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    link = Link(ours, MEMBER, {stream_of(TAG): TAG}, set())
    with peer:
        yield link, peer
    link.close()


def arrived(link, nbytes):
    """Waits until `nbytes` lie in the socket."""
    eventually(lambda: unread(link) == nbytes, f"{nbytes} bytes of the peer")


def unread(link):
    return int.from_bytes(fcntl.ioctl(link, termios.FIONREAD, bytes(4)), sys.byteorder)


def eventually(holds, what, limit=10.0):
    end = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < end, f"{what} must come within {limit:g} s"
        time.sleep(0.001)


def ready(link):
    poll = select.poll()
    poll.register(link, select.POLLIN)
    return bool(poll.poll(0))


def test_the_rest_of_a_long_frame_is_awaited_in_large_parts(ends):
    link, peer = ends
    data = bytes(range(250)) * (LENGTH // 250)
    receipt = Receipt(TAG, memoryview(bytearray(LENGTH)))
    link.post(receipt)
    peer.sendall(pack_header(Kind.DATA, TAG, LENGTH) + data[:1000])
    arrived(link, 1024)
    link.read(1.0)
    peer.sendall(data[1000:2000])
    arrived(link, 1000)
    assert not ready(link) and link.last_received == 1.0
    link.look(2.0)
    assert link.last_received == 2.0
    link.look(3.0)
    assert link.last_received == 2.0, "nothing has come since"
    peer.sendall(data[2000:])
    arrived(link, LENGTH - 2000)
    assert ready(link)
    link.read(4.0)
    assert receipt.done and bytes(receipt.view) == data


def test_what_follows_a_long_frame_is_heard_at_once(ends):
    link, peer = ends
    receipts = [Receipt(TAG, memoryview(bytearray(n))) for n in (LENGTH, 5, 0, 3000)]
    for receipt in receipts:
        link.post(receipt)
    frames = [pack_header(Kind.DATA, TAG, len(r.view)) + b"x" * len(r.view) for r in receipts]
    peer.sendall(b"".join(frames[:1])[:5000])
    arrived(link, 5000)
    link.read(time.monotonic())
    peer.sendall(b"".join(frames)[5000:] + pack_header(Kind.HEARTBEAT, 3))
    arrived(link, sum(map(len, frames)) - 5000 + 24)
    link.read(time.monotonic())
    assert all(receipt.done for receipt in receipts) and link.awaited_rank == 2
    peer.sendall(pack_header(Kind.HEARTBEAT, 0))
    arrived(link, 24)
    assert ready(link)
    link.read(time.monotonic())
    assert link.awaited_rank is None


def test_a_peer_that_hangs_up_in_a_long_frame_is_heard_at_once(ends):
    link, peer = ends
    link.post(Receipt(TAG, memoryview(bytearray(LENGTH))))
    peer.sendall(pack_header(Kind.DATA, TAG, LENGTH) + bytes(10))
    arrived(link, 34)
    link.read(time.monotonic())
    peer.close()
    eventually(lambda: ready(link), "the end of the peer")
    with pytest.raises(PeerError, match="hung up"):
        link.read(time.monotonic())
