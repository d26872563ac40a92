"""A key and certificate created by the driver for one job and never written to a file."""

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from sparkdl.errors import needs_package
from sparkdl.exchange.connections.tls_sides import TlsSides, new_context

NAME = "sparkdl"
CLOCKS = timedelta(days=365)  # tolerated lag of a host's clock
LIFE = timedelta(days=3650)  # longer than any job; the key vanishes with its processes


@dataclass(frozen=True)
class JobTls(TlsSides):
    """TLS with one certificate that all processes of a job present, and no other is accepted.

    It is distributed in the same way as the secret of the job.

    Parameters
    ----------
    certificate, key : bytes
        PEM.
    """

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)

    @classmethod
    def new(cls):
        """Creates a P-256 key and a self-signed certificate.

        Raises UnsupportedError without the package cryptography, which only the driver needs.
        """
        owner, package = "Tls(), which makes a certificate,", "cryptography on the driver"
        with needs_package(owner, package, "pip install 'sparkdl-hadoop[tls]', or give Tls files"):
            from cryptography.hazmat.primitives import serialization
            from cryptography.hazmat.primitives.asymmetric import ec
        key, pem = ec.generate_private_key(ec.SECP256R1()), serialization.Encoding.PEM
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        return cls(signed_by_itself(key).public_bytes(pem), key.private_bytes(pem, *form))

    def context(self, protocol):
        return context_of_job(self, protocol)


def signed_by_itself(key):
    """Returns a self-signed certificate for a key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - CLOCKS).not_valid_after(now + LIFE)
    return builder.sign(key, hashes.SHA256())


@lru_cache(maxsize=4)  # both sides, for a few jobs at a time
def context_of_job(tls, protocol):
    """Returns the SSLContext for one side of a connection."""
    context = new_context(protocol)
    with readable(tls.certificate) as certificate, readable(tls.key) as key:
        context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=tls.certificate.decode())
    return context


@contextmanager
def readable(content):
    """Yields a path from which `content`, which must fit into a pipe, can be read once."""
    reader, writer = os.pipe()
    try:
        os.write(writer, content)
    finally:
        os.close(writer)
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
