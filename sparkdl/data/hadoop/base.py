"""Base of the HDFS file systems, which follow fsspec."""

import os
from abc import abstractmethod
from contextlib import suppress
from datetime import UTC, datetime

from fsspec import AbstractFileSystem

from sparkdl.data.hadoop.name_node import NameNode

_clients = {}  # {(class, scheme, authority): client}, to reuse connections
_name_nodes = {}  # the same for what is known of their NameNodes


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
        found = _clients.get(key)
        if found is None:  # kept here too, as another thread's fork may empty `_clients`
            found = _clients[key] = self.new_client(self.scheme, self.authority)
        return found

    @property
    def name_node(self):
        """This process's NameNode of the cluster, which is asked again while it restarts."""
        key = type(self), self.scheme, self.authority
        return _name_nodes.setdefault(key, NameNode(self.uri("")))

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

    def is_moved(self, path1, path2):
        """Returns a function that returns whether path1 has become path2."""
        return lambda: self.exists(path2) and not self.exists(path1)

    def is_gone(self, path):
        """Returns a function that returns whether nothing is at the path."""
        return lambda: not self.exists(path)

    def modified(self, path):
        return self.info(path)["modified"]


def as_time(milliseconds):
    """Converts milliseconds since 1970 to a datetime."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


# Threads of hdfs-native do not survive a fork, and even dropping a client would then hang.
os.register_at_fork(before=_clients.clear)
