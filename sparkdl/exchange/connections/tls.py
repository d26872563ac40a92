"""TLS on the links, so that nobody on the way can read or change the traffic."""

import pathlib
import ssl
from contextlib import contextmanager
from functools import cache
from typing import ClassVar

from sparkdl.config import Config, Path, dataclass, option
from sparkdl.errors import ConfigError, require
from sparkdl.exchange.connections.handshake import HandshakeRefused
from sparkdl.exchange.connections.tls_pump import plain


@dataclass(frozen=True, kw_only=True)
class Tls(Config):
    """Files, all PEM, at the same paths on every host; both sides of a connection show theirs.

    The secret of the job is proved on top, so host names in certificates do not matter: whoever
    has a certificate of the authorities and the secret belongs to the job.
    """

    complete: ClassVar = True

    certificate: str = option(
        Path(), "Certificate of this process, with the chain up to the authority."
    )
    key: str = option(Path(), "Private key of the certificate, without a password.")
    authorities: str = option(Path(), "Authorities whose certificates are accepted.")

    def check(self):
        """Raises ConfigError unless the files are there and fit together."""
        for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
            context(self, protocol)

    def as_listener(self, sock, deadline):
        """Returns the socket under TLS, as the side that was called.

        Raises HandshakeRefused if the other cannot do it.
        """
        return wrap_socket(context(self, ssl.PROTOCOL_TLS_SERVER), sock, deadline, server_side=True)

    def as_caller(self, sock, deadline):
        """Returns the socket under TLS, as the side that calls.

        Raises HandshakeRefused if the other cannot do it.
        """
        return wrap_socket(
            context(self, ssl.PROTOCOL_TLS_CLIENT), sock, deadline, server_side=False
        )

    def plain(self, sock):
        """Returns an ordinary socket whose bytes travel through the one under TLS."""
        return plain(sock)


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


@cache
def context(tls, protocol):
    """Makes the context of both sides: TLS 1.3, and a certificate of our authorities."""
    for field in ("certificate", "key", "authorities"):
        require(tls, field, pathlib.Path(getattr(tls, field)).is_file(), "a file on this host")
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(tls.certificate, tls.key, password="")
        context.load_verify_locations(tls.authorities)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"{tls} must name PEM files that fit together: {error}") from error
    return context
