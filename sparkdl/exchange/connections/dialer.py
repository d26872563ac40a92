"""Dials a listening process until it answers or the time limit expires."""

import ssl
import time

from sparkdl.errors import PeerError
from sparkdl.exchange.connections.address import VARIABLE
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.handshake import (
    CHECKED,
    PROTOCOL,
    HandshakeRefused,
    check_channel,
    checked_socket,
    introduce,
)
from sparkdl.exchange.connections.sockets import connect, format_address, hang_up
from sparkdl.exchange.connections.tls_sides import name_tls_errors

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0


def dial(address, secret, channel, rank=0, *, timeout=60.0, tls=None, integrity=False):
    """Returns a socket to `channel` of the process at `address`, after mutual authentication.

    Retries while nobody answers.

    Parameters
    ----------
    address : (str, int)
        Host or ip, and port.
    rank : int
        Of the caller.
    timeout : float
        Seconds. Dialing is retried until then, as the other process may still be starting.
    tls, integrity
        As Endpoint takes them.

    Raises
    ------
    PeerError
        When the time limit expires; at once if the other has another secret or protocol.
    """
    check_channel(channel)
    if tls:
        tls.context(ssl.PROTOCOL_TLS_CLIENT)  # a ConfigError comes before the first attempt
    deadline, pause = Deadline(timeout), FIRST_PAUSE
    while True:
        try:
            return attempt(address, secret, channel, rank, deadline, tls, integrity)
        except HandshakeRefused as error:
            if error.final:
                raise refusal_error(address, channel, error) from error
            reason = error
        except OSError as error:
            reason = error
        if deadline.has_passed(ahead=pause):
            raise PeerError(
                None,
                format_address(address),
                f"did not answer on channel {channel!r} within {timeout:g} s: {reason}"
                + hint(address),
            ) from reason
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def attempt(address, secret, channel, rank, deadline, tls, integrity):
    protocol = CHECKED if integrity else PROTOCOL
    sock = connect(address, deadline)
    try:
        if tls:
            sock = tls.as_caller(sock, deadline)
        with name_tls_errors():  # the listener checks our certificate after our side has finished
            caller = channel, rank
            transcript = introduce(sock, secret, *caller, deadline, protocol, speaks_first=not tls)
        sock.settimeout(None)
        if tls:
            return tls.plain(sock)
        return checked_socket(sock, secret, transcript, True) if integrity else sock
    except BaseException:
        hang_up(sock)
        raise


def hint(address):
    if address[0] != "::1" and not address[0].startswith("127."):
        return ""
    return f"; if that is meant to be another host, set {VARIABLE} there: this is the loopback"


def refusal_error(address, channel, error):
    causes = {
        "another secret": "it belongs to another job: the secrets differ",
        "garbage": "it speaks another protocol; is it sparkdl, with the same tls and "
        "integrity on both sides?",
    }
    cause = tls_cause(error.__cause__) if error.reason == "TLS" else causes[error.reason]
    return PeerError(
        None, format_address(address), f"cannot be called on channel {channel!r}: {cause}"
    )


def tls_cause(error):
    """Describes why TLS failed: which side's certificate is at fault, and OpenSSL's reason."""
    if isinstance(error, ssl.SSLCertVerificationError):
        text = "its certificate is not valid here under the given authorities"
        return f"{text}: {error.verify_message}"
    reason = (error.reason or str(error)).lower().replace("_", " ")
    if "certificate" in reason or "unknown ca" in reason:
        return f"our certificate is not valid there under the given authorities: {reason}"
    if "alert" in reason:
        return f"it closed the TLS connection: {reason}"
    return f"TLS on one side only: {reason}"
