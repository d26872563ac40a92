"""HDFS by native RPC with the library hdfs-native: name services, Kerberos, replica failover.

It authenticates with the delegation tokens of YARN containers, else with Kerberos tickets.
"""

import io
import logging
from contextlib import suppress
from functools import partial

from hdfs_native import Client, WriteOptions

from sparkdl.data.hadoop import kerberos, tokens, web_client
from sparkdl.data.hadoop.base import HadoopFiles, as_time
from sparkdl.data.hadoop.configuration import Configuration
from sparkdl.data.hadoop.native_calls import answer, call_within, plain
from sparkdl.data.hadoop.streams import (
    ANSWERS,
    AnotherWayLeft,
    RangeReader,
    RequestRefused,
    UploadOnClose,
    reason,
)
from sparkdl.errors import SparkdlError

log = logging.getLogger(__name__)

BUFFER = 2**20  # bytes; reads of 64 KB took five times as long
PIECE = 2**24  # largest read per call, in bytes, as each call has a time limit
LIMIT = 120.0  # seconds to write a piece of a file, or to complete it
SILENT = "DataNodes did not accept it"
SWITCHES = "dfs.client.failover.max.attempts"
HUNG_UP = "RPC listener disconnected"  # what a NameNode with Kerberos does to a client without


class NativeFiles(HadoopFiles):
    """Files of a cluster, by native RPC.

    Parameters
    ----------
    scheme : str
        "hdfs" or "viewfs".
    authority : str
        host:port or a name service; empty: fs.defaultFS.
    """

    protocol = ("hdfs", "viewfs")

    @staticmethod
    def new_client(scheme, authority):
        """Returns a Client with the settings of the cluster's configuration files."""
        conf = Configuration.read()
        chosen = conf.authority(scheme, authority)
        config = dict(conf.properties)
        if scheme == "hdfs":
            chosen = conf.rpc_authority(authority)
            nodes = conf.namenodes(chosen)
            if nodes:
                config[f"dfs.ha.namenodes.{chosen}"] = ",".join(nodes)
            else:  # no failover; by default it waits three minutes for a host that is down
                config.setdefault(SWITCHES, "2")
                chosen = tokens.named_in_tokens(chosen) if conf.is_secure else chosen
        elif conf.is_secure:
            config |= tokens.links_named_in_tokens(config)
        with plain(f"{scheme}://{chosen}"):
            return Client(f"{scheme}://{chosen}", config)

    def info(self, path, **options):
        return entry(self._ask(path, self.client.get_file_info, path))

    def ls(self, path, detail=True, **options):
        listed = self._ask(path, lambda: list(self.client.list_status(path)))
        entries = [entry(status) for status in listed]
        return entries if detail else [one["name"] for one in entries]

    def makedirs(self, path, exist_ok=False):
        self._ask(path, lambda: self.client.mkdirs(path, create_parent=True))

    def mv(self, path1, path2, **options):
        is_done = self.is_moved(path1, path2)
        self._ask(path1, self.client.rename, path1, path2, is_done=is_done)

    def rm(self, path, recursive=False, maxdepth=None):
        is_done = self.is_gone(path)
        if not self._ask(path, self.client.delete, path, recursive, is_done=is_done):
            raise FileNotFoundError(path)

    def _open(self, path, mode="rb", **options):
        if mode == "rb":
            reader = self._ask(path, self.client.read, path)
            return io.BufferedReader(NativeReader(self.uri(path), reader), BUFFER)
        if mode == "wb":
            write = ReplicatedWrite(self.client, path, self._elsewhere(), self._ask)
            return UploadOnClose(write.send)
        raise ValueError(f"mode must be rb or wb, got {mode}")

    def _ask(self, path, call, *arguments, is_done=None):
        try:
            return self.name_node.ask(lambda: answer(path, call, *arguments), is_done)
        except RequestRefused as error:
            if HUNG_UP not in str(error) or kerberos.has_kerberos():
                raise
            raise RequestRefused(f"{error}; {kerberos.SET_CONFIGURATION}") from error

    def _elsewhere(self):
        if self.scheme == "hdfs":  # viewfs may span several clusters
            return partial(write_elsewhere, self.authority)


class ReplicatedWrite:
    """Writes a whole file, and retries it if that fails.

    The NameNode keeps assigning a dead node for ten minutes by default, the library then aborts the
    write, and a small cluster has no other node. So each retry uses one replica less, and comes at
    once. In the end the NameNode is asked for the original number, which it restores when it can.

    The NameNode assigns a host its own DataNode first, and the library cannot exclude it. So if a
    single replica fails as well, retries first go through WebHDFS, which can.

    Parameters
    ----------
    client : Client
    path : str
    elsewhere : function of (path, file) or None
        Writes the file to DataNodes of other hosts.
    ask : function of (path, call, arguments)
        Returns the NameNode's answer to a call.
    """

    def __init__(self, client, path, elsewhere=None, ask=answer):
        self._client, self._path, self._elsewhere, self._ask = client, path, elsewhere, ask
        self._wanted = self._replicas = None  # None: the cluster's default
        self._is_elsewhere = False

    def send(self, content):
        if self._is_elsewhere and self._sent_elsewhere(content):
            return
        way = self._replicas, self._is_elsewhere
        try:
            self._send(content)
        except ANSWERS:
            raise
        except OSError as error:
            if way == (self._replicas, self._is_elsewhere):
                raise
            raise AnotherWayLeft(reason(error)) from error

    def _sent_elsewhere(self, content):
        """Returns whether a DataNode of another host has accepted the file."""
        try:
            self._elsewhere(self._path, content)
        except OSError as error:
            log.info("%s: %s", self._path, error)
            content.seek(0)
            return False
        log.warning("%s was written by WebHDFS: this host's own DataNode fails", self._path)
        return True

    def _send(self, content):
        options = WriteOptions(overwrite=True, replication=self._replicas)
        out = self._ask(self._path, self._client.create, self._path, options)
        with plain(self._path):
            try:
                while piece := content.read(BUFFER):  # bytes: memoryviews take four times as long
                    call_within(LIMIT, OSError(SILENT), out.write, piece)
                call_within(LIMIT, OSError(SILENT), out.close)
            except BaseException:
                self._take_back()
                raise
        if self._replicas is not None:
            self._ask_for_more()

    def _take_back(self):
        """Deletes the partial file, for which the library still waits.

        The next try then uses one replica less, or after the last one, another host.
        """
        with suppress(OSError):
            given = answer(self._path, self._client.get_file_info, self._path).replication
            replicas = min(given, self._replicas or given)
            answer(self._path, self._client.delete, self._path, False)
            if replicas > 1:
                self._wanted, self._replicas = self._wanted or replicas, replicas - 1
            else:
                self._is_elsewhere = self._elsewhere is not None

    def _ask_for_more(self):
        details = self._path, self._replicas, self._wanted
        log.warning("%s has only %d replicas of %d: a node does not answer", *details)
        try:
            self._ask(self._path, self._client.set_replication, self._path, self._wanted)
        except OSError as error:  # the file is whole
            log.warning("%s: the NameNode will not add replicas: %s", self._path, reason(error))


def write_elsewhere(authority, path, content):
    """Writes a file by WebHDFS; raises OSError if this process cannot use the cluster's."""
    conf = Configuration.read()
    try:
        scheme, place = conf.web_scheme(), conf.web_authority(authority)
        if scheme == "webhdfs" and conf.is_private:
            raise OSError("the cluster encrypts its data, but has no WebHDFS over HTTPS")
        web_client.write_elsewhere(scheme, place, path, content)
    except (SparkdlError, OSError, ValueError) as error:  # whatever the error, a retry may succeed
        raise OSError(f"no DataNode of another host: {reason(error)}") from error


class NativeReader(RangeReader):
    """A file opened for reading, unbuffered."""

    def __init__(self, uri, inner):
        super().__init__(uri, len(inner))
        self._inner = inner

    def read_range(self, start, length):
        end, read = start + length, self._inner.read_range
        places = range(start, end, PIECE)
        pieces = [answer(self.uri, read, at, min(PIECE, end - at)) for at in places]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def entry(status):
    """Converts a file's status to fsspec's info dict."""
    return {
        "name": status.path,
        "size": status.length,
        "type": "directory" if status.isdir else "file",
        "modified": as_time(status.modification_time),
    }
