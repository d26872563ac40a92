"""Certificate authorities and certificates, created on demand by the openssl command."""

import shutil
import subprocess

import pytest

from sparkdl.exchange.connections.tls import Tls

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]


def authority(folder, name):
    """Creates a self-signed certificate and its key; returns their paths."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    openssl("req", "-x509", *CURVE, "-subj", f"/CN={name}", "-out", certificate, "-keyout", key)
    return certificate, key


def member(folder, name, signer, days=2):
    """Returns a Tls with a certificate signed by `signer`; it trusts that authority."""
    by, by_key = signer
    certificate, key, asked = (folder / f"{name}.{end}" for end in ("pem", "key", "csr"))
    openssl("req", *CURVE, "-subj", f"/CN={name}", "-out", asked, "-keyout", key)
    openssl("x509", "-req", "-days", days, "-in", asked, "-CA", by, "-CAkey", by_key,
            "-CAcreateserial", "-out", certificate)  # fmt: skip
    return Tls(certificate=str(certificate), key=str(key), authorities=str(by))


def openssl(*arguments):
    program = shutil.which("openssl")
    if not program:
        pytest.skip("needs the openssl command to make certificates")
    subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, timeout=60)
