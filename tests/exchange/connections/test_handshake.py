"""Only the secret opens: replayed, reflected and altered messages do not."""

import socket
import threading
from contextlib import contextmanager

import pytest

from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.handshake import (
    HELLO,
    MAC,
    NONCE,
    PROTOCOL,
    HandshakeRefused,
    Verdict,
    examine,
    introduce,
    receive,
    sign,
    welcome,
)
from tests.exchange.pairs import SECRET

GREETING = len(PROTOCOL) + NONCE
CHANNEL = "links"
ANSWER = len(PROTOCOL) + NONCE + HELLO.size + len(CHANNEL) + MAC


class Side:
    """Runs one side of the handshake in a thread; keeps what it returned or raised."""

    def __init__(self, function, *arguments):
        self.outcome = None
        self.thread = threading.Thread(target=self._run, args=(function, arguments))
        self.thread.start()

    def _run(self, function, arguments):
        try:
            self.outcome = function(*arguments)
        except (HandshakeRefused, OSError) as error:
            self.outcome = error

    def result(self):
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.outcome


def listen(sock, limit=5):
    deadline = Deadline(limit)
    caller = examine(sock, SECRET, deadline)
    welcome(sock, SECRET, caller, deadline)
    return caller


def call(sock, rank=7):
    introduce(sock, SECRET, CHANNEL, rank, Deadline(5))
    return "in"


@contextmanager
def ends():
    left, right = socket.socketpair()
    with left, right:
        left.settimeout(5)
        right.settimeout(5)
        yield left, right


@contextmanager
def listener():
    """A Side that listens, and the socket to talk to it."""
    with ends() as (here, there):
        yield Side(listen, there), here


@contextmanager
def caller():
    """A Side that calls, and the socket to talk to it."""
    with ends() as (here, there):
        yield Side(call, there), here


def take(sock, n):
    return receive(sock, n, Deadline(5))


def good_answer(sock, rank=7):
    """Returns a member's answer to the greeting that waits in `sock`."""
    with caller() as (member, there):
        there.sendall(take(sock, GREETING))
        answer = take(there, ANSWER)
        there.shutdown(socket.SHUT_RDWR)
        member.result()
    return answer


def test_a_good_answer_opens():
    with listener() as (door, sock):
        sock.sendall(good_answer(sock))
        assert door.result()[:2] == (7, CHANNEL)
        assert take(sock, 1)[0] == Verdict.WELCOME


def test_an_old_answer_does_not_open_again():
    with listener() as (door, sock):
        old = good_answer(sock)
        sock.sendall(old)
        assert door.result().rank == 7
    with listener() as (door, sock):
        take(sock, GREETING)
        sock.sendall(old)
        assert door.result().reason == "another secret"
        assert take(sock, 1)[0] == Verdict.ANOTHER_SECRET


@pytest.mark.parametrize("place", range(ANSWER))
def test_no_byte_of_the_answer_may_change(place):
    with listener() as (door, sock):
        answer = bytearray(good_answer(sock))
        answer[place] ^= 1
        sock.sendall(answer)
        sock.shutdown(socket.SHUT_WR)
        assert isinstance(door.result(), HandshakeRefused | ConnectionResetError)


@pytest.mark.parametrize("place", range(1 + MAC))
def test_no_byte_of_the_welcome_may_change(place):
    with listener() as (door, to_door), caller() as (member, to_member):
        to_member.sendall(take(to_door, GREETING))
        to_door.sendall(take(to_member, ANSWER))
        verdict = bytearray(take(to_door, 1 + MAC))
        assert door.result().rank == 7
        verdict[place] ^= 1
        to_member.sendall(verdict)
        assert isinstance(member.result(), HandshakeRefused)


def test_what_goes_between_unchanged_opens():
    with listener() as (door, to_door), caller() as (member, to_member):
        to_member.sendall(take(to_door, GREETING))
        to_door.sendall(take(to_member, ANSWER))
        to_member.sendall(take(to_door, 1 + MAC))
        assert (door.result().rank, member.result()) == (7, "in")


def test_a_caller_does_not_believe_its_own_proof():
    with caller() as (member, sock):
        sock.sendall(PROTOCOL + bytes(NONCE))
        answer = take(sock, ANSWER)
        sock.sendall(bytes([Verdict.WELCOME]) + answer[-MAC:])
        assert member.result().reason == "another secret"


def test_a_listener_does_not_believe_its_own_proof():
    """The proof in its welcome to one caller is not accepted from another caller."""
    with listener() as (door, sock):
        sock.sendall(good_answer(sock))
        door.result()
        proof = take(sock, 1 + MAC)[1:]
    with listener() as (door, sock):
        answer = good_answer(sock)
        sock.sendall(answer[:-MAC] + proof)
        assert door.result().reason == "another secret"


def test_the_roles_sign_differently():
    assert sign(SECRET, b"caller", b"x") != sign(SECRET, b"listener", b"x")


def test_greetings_are_fresh():
    with listener() as (_, one), listener() as (_, other):
        assert take(one, GREETING) != take(other, GREETING)
        one.shutdown(socket.SHUT_RDWR)
        other.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow
def test_one_that_drips_is_cut_off_at_the_limit():
    with ends() as (here, there):
        door = Side(listen, there, 0.3)
        for byte in PROTOCOL + bytes(ANSWER - len(PROTOCOL)):  # some 4 s without the limit
            here.sendall(bytes([byte]))
            door.thread.join(0.05)
            if not door.thread.is_alive():
                break
        assert isinstance(door.result(), TimeoutError)
