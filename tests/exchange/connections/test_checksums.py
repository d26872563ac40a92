"""Bytes that change in transit raise a clear error on all ranks."""

import hmac
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sparkdl.errors import DataError, PeerError
from sparkdl.exchange.connections.checksums import CHANGED, CHECKSUM, PLACE, Checksums
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.connections.handshake import HELLO, MAC, NONCE, PROTOCOL
from sparkdl.exchange.group import Group
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from tests.exchange.pairs import SECRET
from tests.exchange.proxy import OnTheWay, Proxy, closing_proxies
from tests.support.tables import for_all

KEY = b"a key of the tests"
SIZE, COUNT = 3, 1000
# Bytes that rank 0's first caller has sent once admitted; the group's name has 16 digits.
HANDSHAKE = len(PROTOCOL) + NONCE + HELLO.size + len("group/") + 16 + MAC
BARRIER = HANDSHAKE + 24 + CHECKSUM  # a barrier of three, whose first frame is only a header


def frame(checksums, *pieces):
    """Returns [(piece, checksum)] of a frame."""
    views = list(map(bytes, checksums.frame(*pieces)))
    return list(zip(views[::2], views[1::2]))


def received(pairs):
    """Returns the pieces of one frame as the receiver checks them."""
    checksums = Checksums(KEY)
    (head, checksum), *others = pairs
    found = [bytes(checksums.checked(memoryview(head + checksum)))]
    for piece, checksum in others:
        checksums.check(piece, checksum)
        found.append(piece)
    return found


def test_a_checksum_is_the_hmac_of_a_piece_and_its_place():
    sending = Checksums(KEY)
    for number in (1, 2):
        for place, (piece, checksum) in enumerate(frame(sending, b"head", b"", b"body", b"more")):
            told = hmac.digest(KEY, PLACE.pack(number, place) + piece, "sha256")
            assert checksum == told[:CHECKSUM]


def test_nothing_of_a_frame_can_change():
    sending = Checksums(KEY)
    good, later = (frame(sending, b"head", b"body", b"more") for _ in range(2))
    other = frame(Checksums(b"another key"), b"head", b"body", b"more")
    assert received(good) == [b"head", b"body", b"more"]
    bad = {
        "another head": [(b"haed", good[0][1]), *good[1:]],
        "another piece": [good[0], (b"bady", good[1][1]), good[2]],
        "another checksum": [(b"head", bytes(CHECKSUM)), *good[1:]],
        "a piece is left out": [good[0], good[2]],
        "pieces change places": [good[0], good[2], good[1]],
        "a frame is left out": later,
        "a piece of another frame": [good[0], later[1], good[2]],
        "another key": other,
    }

    def check(name):
        with pytest.raises(DataError, match=re.escape(CHANGED)):
            received(bad[name])

    for_all(bad, check)


def test_frames_that_were_never_sent_leave_no_gap():
    sending = Checksums(KEY)
    dropped = sending.frame(b"dropped", b"body"), sending.frame(b"dropped as well")
    sending.take_back(len(dropped))
    assert received(frame(sending, b"head")) == [b"head"]


def outcomes(folder, flip, integrity):
    """Returns each rank's sum or error when a bit changes on the way from rank 1 or 2 to rank 0."""
    places = [OnTheWay(FileRendezvous(folder, rank, SIZE), flip) for rank in range(SIZE)]
    with closing_proxies(places), ThreadPoolExecutor(SIZE) as pool:
        found = list(pool.map(lambda place: summed(place, integrity), places))
        assert places[0].proxy.flipped == (flip is not None)
    return found


def summed(place, integrity):
    try:
        with Group.form(
            place, SECRET, timeout=10.0, shared_memory=False, integrity=integrity
        ) as group:
            x = np.full(COUNT, place.rank + 1, np.float32)
            group.all_reduce(x)
            group.barrier()
            return x.tolist()
    except PeerError as error:
        return error


@pytest.mark.slow
def test_a_changed_bit_is_an_error_on_all_ranks(tmp_path):
    good = [[6.0] * COUNT] * SIZE
    assert outcomes(tmp_path / "quiet", None, integrity=True) == good
    silent = outcomes(tmp_path / "none", HANDSHAKE + 24 + 24 + 3000, integrity=False)
    assert silent != good and not any(isinstance(one, PeerError) for one in silent)

    def check(flip):
        errors = outcomes(tmp_path / str(flip), flip, integrity=True)
        texts = {re.split(" while |; ", str(error))[0] for error in errors}
        assert len(texts) == 1 and f"sent {CHANGED}" in texts.pop(), errors

    # a lone header, a header, its checksum, bodies, and the checksum after them
    for_all([HANDSHAKE, BARRIER + 20, BARRIER + 30, BARRIER + 3000, BARRIER + 4045], check)


def test_a_changed_bit_of_a_message_is_an_error():
    def check(flip):
        with Endpoint(SECRET, integrity=True) as endpoint:
            proxy = Proxy(endpoint.address, len(PROTOCOL) + NONCE + HELLO.size + 4 + MAC + flip)
            sock = endpoint.connect(proxy.address, "wire", rank=1)
            with Wire(sock, "here") as here, Wire(endpoint.accept("wire")[1], "there") as there:
                here.send({"some": "text"}, np.ones(100), np.zeros(0))
                with pytest.raises(
                    PeerError, match=re.escape(f"sent an invalid message: {CHANGED}")
                ):
                    there.receive()
            proxy.close()

    for_all([0, 30, 50, 150, 500, 900], check)


def test_both_sides_must_want_it():
    with Endpoint(SECRET) as bare, Endpoint(SECRET, integrity=True) as safe:
        for one, other in ((bare, safe), (safe, bare)):
            with pytest.raises(PeerError, match="the same tls and integrity on both sides"):
                one.connect(other.address, "wire")
