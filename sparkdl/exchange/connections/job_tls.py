"""A key and a certificate that the driver makes for one job, and that no file holds."""

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from sparkdl.errors import needs_package
from sparkdl.exchange.connections.tls_sides import TlsSides, new_context

NAME = "sparkdl"
CLOCKS = timedelta(days=365)  # by which a host's clock may be behind
LIFE = timedelta(days=3650)  # longer than any job: the key ends with its processes


@dataclass(frozen=True)
class JobTls(TlsSides):
    """All processes of a job show the one certificate, and accept no other.

    It travels as the secret of the job does.

    Parameters
    ----------
    certificate, key : bytes
        PEM.
    """

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)

    @classmethod
    def new(cls):
        """Makes a key on the curve P-256, and a certificate that it signs itself.

        Raises UnsupportedError without the package cryptography, which the driver alone needs.
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
    """Returns a certificate of a key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - CLOCKS).not_valid_after(now + LIFE)
    return builder.sign(key, hashes.SHA256())


@lru_cache(maxsize=4)  # of both sides, of few jobs at a time
def context_of_job(tls, protocol):
    """Returns the SSLContext of a side."""
    context = new_context(protocol)
    with readable(tls.certificate) as certificate, readable(tls.key) as key:
        context.load_cert_chain(certificate, key)
    context.load_verify_locations(cadata=tls.certificate.decode())
    return context


@contextmanager
def readable(content):
    """Yields a path at which these bytes, which fit into a pipe, can be read once."""
    reader, writer = os.pipe()
    try:
        os.write(writer, content)
    finally:
        os.close(writer)
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
