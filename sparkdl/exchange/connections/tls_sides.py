"""Both sides of a connection under TLS 1.3, each of which shows a certificate."""

import ssl
from contextlib import contextmanager

from sparkdl.exchange.connections.handshake import HandshakeRefused
from sparkdl.exchange.connections.tls_pump import plain


class TlsSides:
    """What an Endpoint and `dial` need of TLS; `context` gives the certificates."""

    def context(self, protocol):
        """Returns the SSLContext of a side, ssl.PROTOCOL_TLS_SERVER or ssl.PROTOCOL_TLS_CLIENT."""
        raise NotImplementedError

    def check(self):
        """Raises ConfigError unless there are certificates that fit together."""
        for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
            self.context(protocol)

    def as_listener(self, sock, deadline):
        """Returns the socket under TLS, as the side that was called.

        Raises HandshakeRefused if the other cannot do it.
        """
        return wrap_socket(self.context(ssl.PROTOCOL_TLS_SERVER), sock, deadline, server_side=True)

    def as_caller(self, sock, deadline):
        """Returns the socket under TLS, as the side that calls.

        Raises HandshakeRefused if the other cannot do it.
        """
        return wrap_socket(self.context(ssl.PROTOCOL_TLS_CLIENT), sock, deadline, server_side=False)

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


def wrap_socket(context, sock, deadline, server_side):
    sock.settimeout(deadline.remaining())
    with name_tls_errors():
        safe = context.wrap_socket(sock, server_side=server_side, do_handshake_on_connect=False)
        try:
            safe.do_handshake()
        except BaseException:
            safe.close()
            raise
    return safe


@contextmanager
def name_tls_errors():
    """Turns TLS errors of the other side into HandshakeRefused; a cut connection stays one."""
    try:
        yield
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        raise
    except ssl.SSLError as error:
        raise HandshakeRefused("TLS") from error
