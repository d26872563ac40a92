"""Both sides of a TLS 1.3 connection with mutual authentication."""

import socket
import ssl
from contextlib import contextmanager

from sparkdl.exchange.connections.handshake import PROTOCOL, TLS_ONLY, HandshakeRefused, send
from sparkdl.exchange.connections.tls_pump import plain

HANDSHAKE_RECORD = 22  # the first byte of a TLS caller


class TlsSides:
    """The TLS operations of an Endpoint and `dial`; `context` provides the certificates."""

    def context(self, protocol):
        """Returns the SSLContext for ssl.PROTOCOL_TLS_SERVER or ssl.PROTOCOL_TLS_CLIENT."""
        raise NotImplementedError

    def check(self):
        """Raises ConfigError unless the certificates exist and fit together."""
        for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
            self.context(protocol)

    def as_listener(self, connection):
        """Wraps the socket of a PendingConnection in TLS, as the server side.

        Raises HandshakeRefused if the caller fails to authenticate.
        """
        context = self.context(ssl.PROTOCOL_TLS_SERVER)
        expect_tls(connection.sock, connection.deadline)
        connection.replace_sock(wrap_socket(context, connection.sock, server_side=True))
        shake_hands(connection.sock, connection.deadline)

    def as_caller(self, sock, deadline):
        """Returns the socket wrapped in TLS, as the client side.

        Raises HandshakeRefused if the listener fails to authenticate.
        """
        safe = wrap_socket(self.context(ssl.PROTOCOL_TLS_CLIENT), sock, server_side=False)
        try:
            shake_hands(safe, deadline)
        except BaseException:
            safe.close()
            raise
        return safe

    def plain(self, sock):
        """Returns an ordinary socket whose bytes travel through the TLS socket `sock`."""
        return plain(sock)


def new_context(protocol):
    """Returns a TLS 1.3 context that demands the peer's certificate."""
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def wrap_socket(context, sock, server_side):
    """Returns `sock` wrapped in TLS, which replaces it; `shake_hands` must follow."""
    with name_tls_errors():
        return context.wrap_socket(sock, server_side=server_side, do_handshake_on_connect=False)


def shake_hands(safe, deadline):
    safe.settimeout(deadline.remaining())
    with name_tls_errors():
        safe.do_handshake()


def expect_tls(sock, deadline):
    """Raises HandshakeRefused if the caller does not begin with TLS, after telling it so."""
    sock.settimeout(deadline.remaining())
    begin = sock.recv(len(PROTOCOL), socket.MSG_PEEK)
    if begin and begin[0] != HANDSHAKE_RECORD:
        sock.recv(len(begin))  # closing with unread bytes would lose the answer
        send(sock, TLS_ONLY, deadline)
        raise HandshakeRefused("TLS")


@contextmanager
def name_tls_errors():
    """Turns TLS errors of the peer into HandshakeRefused, except for a cut connection."""
    try:
        yield
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        raise
    except ssl.SSLError as error:
        raise HandshakeRefused("TLS") from error
