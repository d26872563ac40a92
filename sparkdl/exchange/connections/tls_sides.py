"""Both sides of a connection under TLS 1.3, each of which shows a certificate."""

import socket
import ssl
from contextlib import contextmanager

from sparkdl.exchange.connections.handshake import PROTOCOL, TLS_ONLY, HandshakeRefused, send
from sparkdl.exchange.connections.tls_pump import plain

HANDSHAKE_RECORD = 22  # the first byte of a caller that speaks TLS


class TlsSides:
    """What an Endpoint and `dial` need of TLS; `context` gives the certificates."""

    def context(self, protocol):
        """Returns the SSLContext of a side, ssl.PROTOCOL_TLS_SERVER or ssl.PROTOCOL_TLS_CLIENT."""
        raise NotImplementedError

    def check(self):
        """Raises ConfigError unless there are certificates that fit together."""
        for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
            self.context(protocol)

    def as_listener(self, connection):
        """Puts the socket of a PendingConnection under TLS, as the side that was called.

        Raises HandshakeRefused if the other cannot do it.
        """
        context = self.context(ssl.PROTOCOL_TLS_SERVER)
        expect_tls(connection.sock, connection.deadline)
        connection.replace_sock(wrap_socket(context, connection.sock, server_side=True))
        shake_hands(connection.sock, connection.deadline)

    def as_caller(self, sock, deadline):
        """Returns the socket under TLS, as the side that calls.

        Raises HandshakeRefused if the other cannot do it.
        """
        safe = wrap_socket(self.context(ssl.PROTOCOL_TLS_CLIENT), sock, server_side=False)
        try:
            shake_hands(safe, deadline)
        except BaseException:
            safe.close()
            raise
        return safe

    def plain(self, sock):
        """Returns an ordinary socket whose bytes travel through the one under TLS."""
        return plain(sock)


def new_context(protocol):
    """Returns an SSLContext of TLS 1.3 that asks the other side for its certificate."""
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def wrap_socket(context, sock, server_side):
    """Returns the socket under TLS, which takes the place of `sock`; `shake_hands` must follow."""
    with name_tls_errors():
        return context.wrap_socket(sock, server_side=server_side, do_handshake_on_connect=False)


def shake_hands(safe, deadline):
    safe.settimeout(deadline.remaining())
    with name_tls_errors():
        safe.do_handshake()


def expect_tls(sock, deadline):
    """Raises HandshakeRefused where the caller begins without TLS, and tells it so."""
    sock.settimeout(deadline.remaining())
    begin = sock.recv(len(PROTOCOL), socket.MSG_PEEK)
    if begin and begin[0] != HANDSHAKE_RECORD:
        sock.recv(len(begin))  # else the answer would be lost with the connection
        send(sock, TLS_ONLY, deadline)
        raise HandshakeRefused("TLS")


@contextmanager
def name_tls_errors():
    """Turns TLS errors of the other side into HandshakeRefused; a cut connection stays one."""
    try:
        yield
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        raise
    except ssl.SSLError as error:
        raise HandshakeRefused("TLS") from error
