"""TLS for the links: nobody on the network can read or change the traffic."""

import logging
import pathlib
import ssl
from functools import lru_cache
from typing import Any, ClassVar

from sparkdl.config import Config, Path, dataclass, option
from sparkdl.errors import ConfigError, require
from sparkdl.exchange.connections.job_tls import JobTls
from sparkdl.exchange.connections.tls_sides import TlsSides, new_context

FIELDS = ("certificate", "key", "authorities")
LAST: dict[Any, ssl.SSLContext] = {}  # {(Tls, protocol): last SSLContext loaded from files}
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Tls(Config, TlsSides):
    """Files, all PEM, at the same paths on every host; both sides of a connection show theirs.

    Without files a fit makes a key and a certificate of its own, which no file holds.

    The secret of the job is proved on top, so host names in certificates do not matter: whoever
    has a certificate of the authorities and the secret belongs to the job.
    """

    complete: ClassVar = True

    certificate: str | None = option(
        Path(), "Certificate of this process, with the chain up to the authority.", default=None
    )
    key: str | None = option(
        Path(), "Private key of the certificate, without a password.", default=None
    )
    authorities: str | None = option(
        Path(), "Authorities whose certificates are accepted.", default=None
    )

    def validate(self):
        super().validate()
        missing = [name for name in FIELDS if getattr(self, name) is None]
        for name in missing if len(missing) < len(FIELDS) else ():
            cure = f"give {', '.join(FIELDS)}, or none of them: then they are made for the fit"
            require(self, name, False, "the path of a file", cure)

    def for_job(self):
        """Returns what a job's processes share: this object, or a JobTls if it has no files."""
        return self if self.key is not None else JobTls.new()

    def check(self):
        for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
            self._new_context(protocol)

    def context(self, protocol):
        """Returns the SSLContext for one side, from the current files.

        While the files are being renewed and do not fit together, returns the previous context.
        """
        try:
            return self._new_context(protocol)
        except ConfigError as error:
            if (self, protocol) not in LAST:
                raise
            log.warning("%s; continuing with the previous files", error)
            return LAST[self, protocol]

    def _new_context(self, protocol):
        versions = tuple(version(self, field) for field in FIELDS)
        context = LAST[self, protocol] = context_of_files(self, protocol, versions)
        return context


def version(tls, field):
    """Returns (modification time, size) of a file, to detect its renewal."""
    path = getattr(tls, field)
    require(tls, field, path and pathlib.Path(path).is_file(), "a file on this host")
    status = pathlib.Path(path).stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)  # both sides, for a few jobs at a time
def context_of_files(tls, protocol, versions):
    """Returns the SSLContext for one side; raises ConfigError unless the files fit together."""
    context = new_context(protocol)
    try:
        context.load_cert_chain(tls.certificate, tls.key, password="")
        context.load_verify_locations(tls.authorities)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(f"{tls} must name PEM files that fit together: {error}") from error
    return context
