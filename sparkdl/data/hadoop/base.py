"""Base of the HDFS file systems, which follow fsspec."""

import os
from abc import abstractmethod
from contextlib import suppress
from datetime import UTC, datetime

from fsspec import AbstractFileSystem

_clients = {}  # {(class, scheme, authority): client}, to reuse connections


class HadoopFiles(AbstractFileSystem):
    """A cluster's files.

    Parameters
    ----------
    scheme : str
    authority : str
        host:port or a name service; empty: as in the cluster's configuration.
    """

    cachable, root_marker = False, "/"

    def __init__(self, scheme, authority="", **options):
        super().__init__(**options)
        self.scheme, self.authority = scheme, authority

    @staticmethod
    @abstractmethod
    def new_client(scheme, authority):
        """Returns the library's client for a cluster."""

    @property
    def client(self):
        """This process's client for the cluster."""
        key = type(self), self.scheme, self.authority
        if key not in _clients:
            _clients[key] = self.new_client(self.scheme, self.authority)
        return _clients[key]

    def uri(self, path):
        return f"{self.scheme}://{self.authority}{path}"

    @classmethod
    def _strip_protocol(cls, path):
        return path  # unchanged, as # and ? are legal in file names

    def exists(self, path, **options):
        """Returns whether the path exists.

        Overridden because fsspec reports a file as missing if the cluster is down.
        """
        with suppress(FileNotFoundError):
            return bool(self.info(path))
        return False

    def isdir(self, path):
        with suppress(FileNotFoundError):
            return self.info(path)["type"] == "directory"
        return False

    def modified(self, path):
        return self.info(path)["modified"]


def as_time(milliseconds):
    """Converts milliseconds since 1970 to a datetime."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# Threads of hdfs-native do not survive a fork, and even dropping a client would then hang.
os.register_at_fork(before=_clients.clear)
