"""Handshake in which two processes of a job prove to each other that they know its secret.

The listener sends a nonce. The caller answers with its own nonce, its rank and the channel, and
signs all of it with the secret (HMAC-SHA256). The listener signs its welcome. Nonces are fresh,
which prevents replay; signatures include the role, which prevents reflection. All messages are
short, and the whole handshake has one time limit. A caller without TLS sends the protocol name
before it is greeted, so that a TLS listener, which waits for the caller to speak first, detects the
mismatch.
"""

import hmac
from enum import IntEnum
from secrets import token_bytes
from struct import Struct
from typing import NamedTuple

from sparkdl.errors import ConfigError
from sparkdl.exchange.connections.checksums import CheckedSocket, Checksums

PROTOCOL = b"sparkdl1"
CHECKED = b"sparkdl2"  # as above, with checksums in the frames that follow
TLS_ONLY = b"sparkdlT"  # greeting of a TLS listener to a caller that does not use TLS
NONCE = MAC = 32
HELLO = Struct("<qB")  # rank, length of the channel's name in bytes
LONGEST_CHANNEL = 255
SHORTEST_SECRET = 16


class Verdict(IntEnum):
    """The listener's answer, one byte."""

    WELCOME = 1
    ANOTHER_SECRET = 2
    BUSY = 3


class HandshakeRefused(Exception):
    """The other side is no process of this job, or rejects this one; `reason` is counted."""

    def __init__(self, reason, final=True):
        super().__init__(reason)
        self.reason, self.final = reason, final


class Caller(NamedTuple):
    """The caller's rank and channel, and the bytes exchanged before the proofs."""

    rank: int
    channel: str
    transcript: bytes


def examine(sock, secret, deadline, protocol=PROTOCOL):
    """Verifies a caller on the listener's side, and returns the Caller.

    `welcome` must follow. Both sides must use the same protocol, PROTOCOL or CHECKED.
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
    """Sends the signed welcome to a verified Caller."""
    verdict = bytes([Verdict.WELCOME])
    send(sock, verdict + sign(secret, b"listener", caller.transcript + verdict), deadline)


def turn_away(sock, deadline):
    """Tells a caller to try again later."""
    send(sock, bytes([Verdict.BUSY]) + bytes(MAC), deadline)


def introduce(sock, secret, channel, rank, deadline, protocol=PROTOCOL, speaks_first=True):
    """Introduces this process to a listener, and returns once the listener has admitted it.

    Returns the bytes exchanged before the proofs, equal to the listener's Caller.transcript.

    Under TLS the caller must not speak first: if the listener refused its certificate, the caller
    would find the connection broken instead of reading the reason.
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

    The keys derive from the secret and the nonces, so they differ for each connection.
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
    """Receives exactly n bytes; further bytes stay in the socket."""
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
    """Raises ConfigError unless `secret` is bytes of sufficient length."""
    if not isinstance(secret, bytes) or len(secret) < SHORTEST_SECRET:
        raise ConfigError(
            f"secret must be at least {SHORTEST_SECRET} bytes; secrets.token_bytes(32) makes one"
        )


def check_channel(channel):
    """Raises ConfigError unless the channel's name fits into the handshake."""
    if not 0 < len(channel.encode()) <= LONGEST_CHANNEL:
        raise ConfigError(f"channel must have 1 to {LONGEST_CHANNEL} bytes, got {channel!r}")
