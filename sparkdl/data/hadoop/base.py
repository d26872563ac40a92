"""Base of the HDFS file systems, as an fsspec file system."""

import os
from abc import abstractmethod
from contextlib import suppress
from datetime import UTC, datetime

from fsspec import AbstractFileSystem

_clients = {}  # (class, scheme, authority) -> client; it keeps its connections


class HadoopFiles(AbstractFileSystem):
    """A cluster's files.

    Parameters
    ----------
    scheme : str
    authority : str
        host:port or a name service; empty: as the cluster's configuration says.
    """

    cachable, root_marker = False, "/"

    def __init__(self, scheme, authority="", **options):
        super().__init__(**options)
        self.scheme, self.authority = scheme, authority

    @staticmethod
    @abstractmethod
    def new_client(scheme, authority):
        """Returns a client of the library for the cluster."""

    @property
    def client(self):
        """The one of this process."""
        key = type(self), self.scheme, self.authority
        if key not in _clients:
            _clients[key] = self.new_client(self.scheme, self.authority)
        return _clients[key]

    def uri(self, path):
        return f"{self.scheme}://{self.authority}{path}"

    @classmethod
    def _strip_protocol(cls, path):
        return path  # as it is: # and ? may stand in the name of a file

    def exists(self, path, **options):
        """Returns whether the path exists.

        fsspec's own takes a cluster that is down for a missing file.
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
    """Returns the datetime so many milliseconds after 1970."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# Threads of hdfs-native do not live on in a fork, where even dropping a client waits for ever.
os.register_at_fork(before=_clients.clear)
