"""HDFS by its own protocol, with the library hdfs-native: name services, Kerberos, other replicas.

It authenticates by the delegation tokens that YARN gives to containers, else by Kerberos tickets.
"""

import io
import logging
import re
import threading
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from hdfs_native import Client, WriteOptions

from sparkdl.data.hadoop.base import HadoopFiles
from sparkdl.data.hadoop.configuration import Configuration
from sparkdl.data.hadoop.streams import RangeReader, RequestRefused, UploadOnClose, reason

log = logging.getLogger(__name__)

BUFFER = 2**20  # bytes; measured: 64 KB reads take five times as long
LIMIT = 120.0  # seconds for a piece, or the end, of a file to be taken
SWITCHES = "dfs.client.failover.max.attempts"
REMOTE = re.compile(r'RPCError\("(?:\w+\.)*(\w+)", "(.*?)(?:\\n.*)?"\)', re.DOTALL)


class NativeFiles(HadoopFiles):
    """A cluster's files.

    Parameters
    ----------
    scheme : str
        "hdfs" or "viewfs".
    authority : str
        host:port or a name service; empty: that of fs.defaultFS.
    """

    protocol = ("hdfs", "viewfs")

    @staticmethod
    def new_client(scheme, authority):
        """Returns a Client, which is given the settings of the cluster's files."""
        conf = Configuration.read()
        chosen = conf.authority(scheme, authority)
        config = dict(conf.properties)
        if scheme == "hdfs":
            chosen = conf.rpc_authority(authority)
            nodes = conf.namenodes(chosen)
            if nodes:
                config[f"dfs.ha.namenodes.{chosen}"] = ",".join(nodes)
            else:  # no other to switch to; else it waits three minutes for one that is down
                config.setdefault(SWITCHES, "2")
        with plain(f"{scheme}://{chosen}"):
            return Client(f"{scheme}://{chosen}", config)

    def info(self, path, **options):
        with plain(path):
            return entry(self.client.get_file_info(path))

    def ls(self, path, detail=True, **options):
        with plain(path):
            entries = [entry(status) for status in self.client.list_status(path)]
        return entries if detail else [one["name"] for one in entries]

    def makedirs(self, path, exist_ok=False):
        with plain(path):
            self.client.mkdirs(path, create_parent=True)

    def mv(self, path1, path2, **options):
        with plain(path1):
            self.client.rename(path1, path2)

    def rm(self, path, recursive=False, maxdepth=None):
        with plain(path):
            if not self.client.delete(path, recursive):
                raise FileNotFoundError(path)

    def _open(self, path, mode="rb", **options):
        if mode == "rb":
            with plain(path):
                reader = self.client.read(path)
            return io.BufferedReader(NativeReader(self.uri(path), reader), BUFFER)
        if mode == "wb":
            return UploadOnClose(ReplicatedWrite(self.client, path).send)
        raise ValueError(f"mode must be rb or wb, got {mode}")


class ReplicatedWrite:
    """Writes a file as a whole, and again if that fails.

    The library gives a write up when a node dies that the NameNode still believes in, for ten
    minutes unless it is told otherwise, and a small cluster has no other to take part. So each
    further try is of one replica less. Once the file is there the NameNode is asked for as many as
    were wanted: it makes them when it can.
    """

    def __init__(self, client, path):
        self._client, self._path = client, path
        self._wanted = self._replicas = None  # as many as the cluster makes by itself

    def send(self, content):
        with plain(self._path):
            options = WriteOptions(overwrite=True, replication=self._replicas)
            out = self._client.create(self._path, options)
            try:
                while piece := content.read(BUFFER):  # bytes: a memoryview takes four times as long
                    call_within(LIMIT, out.write, piece)
                call_within(LIMIT, out.close)
            except BaseException:
                self._take_back()
                raise
            if self._replicas is not None:
                self._ask_for_more()

    def _take_back(self):
        """Removes the part, which the library waits for, and wants less the next time."""
        with suppress(OSError), plain(self._path):
            replicas = self._client.get_file_info(self._path).replication
            self._client.delete(self._path, False)
            if replicas > 1:
                self._wanted, self._replicas = self._wanted or replicas, replicas - 1

    def _ask_for_more(self):
        self._client.set_replication(self._path, self._wanted)
        details = self._path, self._replicas, self._wanted
        log.warning("%s has only %d replicas of %d: a node does not answer", *details)


def call_within(seconds, call, *arguments):
    """Returns call(*arguments); raises OSError if it takes longer than so many seconds.

    The library may wait for ever for what a node that died owes it. Then its thread is given up.
    """
    ended = SimpleQueue()

    def run():
        try:
            ended.put((call(*arguments), None))
        except BaseException as error:
            ended.put((None, error))

    threading.Thread(target=run, name="sparkdl-hdfs", daemon=True).start()
    try:
        result, error = ended.get(timeout=seconds)
    except Empty:
        raise OSError(f"DataNodes did not accept it within {seconds:g} s") from None
    if error is not None:
        raise error
    return result


class NativeReader(RangeReader):
    """A file that is read, unbuffered."""

    def __init__(self, uri, inner):
        super().__init__(uri, len(inner))
        self._inner = inner

    def read_range(self, start, length):
        with plain(self.uri):
            return self._inner.read_range(start, length)


def entry(status):
    """Returns a file's status as fsspec's info dict."""
    return {
        "name": status.path,
        "size": status.length,
        "type": "directory" if status.isdir else "file",
        "modified": status.modification_time,
    }


@contextmanager
def plain(path):
    """Raises errors of the library as OSErrors of one line, without Java's stack."""
    try:
        yield
    except FileNotFoundError as error:
        if "is not a file" in str(error):
            raise IsADirectoryError(f"{path} is a directory") from None
        raise FileNotFoundError(reason(error)) from None
    except (OSError, RuntimeError, ValueError) as error:
        answer = REMOTE.fullmatch(reason(error))
        if answer:
            raise RequestRefused(f"{answer[1]}: {answer[2]}") from error
        raise OSError(reason(error)) from error
