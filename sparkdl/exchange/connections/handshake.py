"""Handshake by which two processes of a job prove to each other that both hold its secret.

The listener greets with a nonce; the caller answers with one of its own, who it is and what it
wants, signed (HMAC-SHA256) with the secret over all of it; the listener signs its welcome. Nonces
are fresh, so old messages prove nothing; each role signs with its name, so none can be sent back.
All messages have small fixed lengths and one time limit together. A caller without TLS names the
protocol before it is greeted, so that a listener under TLS, which waits for the caller, sees it.
"""

import hmac
from enum import IntEnum
from secrets import token_bytes
from struct import Struct
from typing import NamedTuple

from sparkdl.errors import ConfigError
from sparkdl.exchange.connections.checksums import CheckedSocket, Checksums

PROTOCOL = b"sparkdl1"
CHECKED = b"sparkdl2"  # the same, and frames then carry checksums
TLS_ONLY = b"sparkdlT"  # what a listener under TLS greets those with who begin without it
NONCE = MAC = 32
HELLO = Struct("<qB")  # rank, bytes of the channel's name
LONGEST_CHANNEL = 255
SHORTEST_SECRET = 16


class Verdict(IntEnum):
    """The listener's answer, in one byte."""

    WELCOME = 1
    ANOTHER_SECRET = 2
    BUSY = 3


class HandshakeRefused(Exception):
    """The other side is no process of this job, or refuses this one; `reason` is counted."""

    def __init__(self, reason, final=True):
        super().__init__(reason)
        self.reason, self.final = reason, final


class Caller(NamedTuple):
    """The caller's rank and channel, and all bytes exchanged so far."""

    rank: int
    channel: str
    transcript: bytes


def examine(sock, secret, deadline, protocol=PROTOCOL):
    """Examines a caller, on the listener's side: returns the Caller, who holds the secret.

    `welcome` must follow. Both sides have the same protocol, PROTOCOL or CHECKED.
    """
    greeting = protocol + token_bytes(NONCE)
    send(sock, greeting, deadline)
    expect_protocol(sock, deadline, protocol)
    head = receive(sock, NONCE + HELLO.size, deadline)
    rank, length = HELLO.unpack(head[NONCE:])
    name = receive(sock, length, deadline)
    transcript = greeting + head + name
    if not hmac.compare_digest(receive(sock, MAC, deadline), sign(secret, b"caller", transcript)):
        send(sock, bytes([Verdict.ANOTHER_SECRET]) + bytes(MAC), deadline)
        raise HandshakeRefused("another secret")
    try:
        return Caller(rank, name.decode(), transcript)
    except UnicodeDecodeError:
        raise HandshakeRefused("garbage") from None


def welcome(sock, secret, caller, deadline):
    """Accepts the Caller."""
    verdict = bytes([Verdict.WELCOME])
    send(sock, verdict + sign(secret, b"listener", caller.transcript + verdict), deadline)


def turn_away(sock, deadline):
    """Tells a caller to come again later."""
    send(sock, bytes([Verdict.BUSY]) + bytes(MAC), deadline)


def introduce(sock, secret, channel, rank, deadline, protocol=PROTOCOL, speaks_first=True):
    """Introduces the caller; returns once the listener, who holds the secret, has let us in.

    Under TLS it does not speak first: it would send to a listener that refuses its certificate,
    and find the connection broken instead of reading why.

    Returns all bytes exchanged before the proofs, the same as the listener's Caller has.
    """
    if speaks_first:
        send(sock, protocol, deadline)
    expect_protocol(sock, deadline, protocol)
    nonce = receive(sock, NONCE, deadline)
    name = channel.encode()
    head = token_bytes(NONCE) + HELLO.pack(rank, len(name))
    transcript = protocol + nonce + head + name
    answer = head + name + sign(secret, b"caller", transcript)
    send(sock, answer if speaks_first else protocol + answer, deadline)
    verdict, proof = receive(sock, 1, deadline), receive(sock, MAC, deadline)
    if verdict[0] == Verdict.BUSY:
        raise HandshakeRefused("too many callers", final=False)
    if verdict[0] != Verdict.WELCOME or not hmac.compare_digest(
        proof, sign(secret, b"listener", transcript + verdict)
    ):
        raise HandshakeRefused("another secret")
    return transcript


def checked_socket(sock, secret, transcript, is_caller):
    """Returns the socket of a handshake as a CheckedSocket.

    Its keys follow from the secret and the nonces, so another connection has others.
    """
    of_caller, of_listener = (
        Checksums(sign(secret, role, transcript))
        for role in (b"frames of the caller", b"frames of the listener")
    )
    pair = (of_caller, of_listener) if is_caller else (of_listener, of_caller)
    return CheckedSocket(sock, *pair)


def sign(secret, role, transcript):
    return hmac.digest(secret, role + transcript, "sha256")


def expect_protocol(sock, deadline, protocol):
    if receive(sock, len(protocol), deadline) != protocol:
        raise HandshakeRefused("garbage")


def receive(sock, n, deadline):
    """Receives exactly n bytes; what follows stays in the socket."""
    data = bytearray()
    while len(data) < n:
        sock.settimeout(deadline.remaining())
        part = sock.recv(n - len(data))
        if not part:
            raise ConnectionResetError("hung up in the middle of the handshake")
        data += part
    return bytes(data)


def send(sock, data, deadline):
    sock.settimeout(deadline.remaining())
    sock.sendall(data)


def check_secret(secret):
    """Raises ConfigError unless it is bytes, long enough not to be guessed."""
    if not isinstance(secret, bytes) or len(secret) < SHORTEST_SECRET:
        raise ConfigError(
            f"secret must be at least {SHORTEST_SECRET} bytes; secrets.token_bytes(32) makes one"
        )


def check_channel(channel):
    """Raises ConfigError unless its name fits into the handshake."""
    if not 0 < len(channel.encode()) <= LONGEST_CHANNEL:
        raise ConfigError(f"channel must have 1 to {LONGEST_CHANNEL} bytes, got {channel!r}")
