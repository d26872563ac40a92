"""HDFS over HTTP (WebHDFS, HttpFS) with the library hdfs, for networks with only web ports open.

Slower than native RPC: a fourth of its rate for sequential reads, a tenth for small ranges; see
`python build.py bench hdfs`.
"""

import io
from functools import partial

from sparkdl.config import is_integer
from sparkdl.data.hadoop.base import HadoopFiles, as_time
from sparkdl.data.hadoop.streams import RangeReader, RequestRefused, UploadOnClose, again
from sparkdl.data.hadoop.web_client import Detour, new_client
from sparkdl.data.hadoop.web_errors import plain
from sparkdl.errors import brief

BUFFER = 2**22  # bytes: each range costs two requests
TRIES = 3  # per range
LARGEST = 2**63  # largest file size in bytes
LATEST = 2**45  # milliseconds since 1970: more than a thousand years


class WebFiles(HadoopFiles):
    """Files of a cluster, over HTTP.

    Parameters
    ----------
    scheme : str
        "webhdfs", or "swebhdfs" for HTTPS.
    authority : str
        host:port of a NameNode's web server or of HttpFS, or a name service; empty: as in the
        configuration.
    """

    protocol = ("webhdfs", "swebhdfs")

    @staticmethod
    def new_client(scheme, authority):
        return new_client(scheme, authority)

    def info(self, path, **options):
        return self._ask(path, lambda: entry(path, self.client.status(path)))

    def ls(self, path, detail=True, **options):
        def entries():
            listed, folder = self.client.list(path, status=True), path.rstrip("/")
            return [entry(f"{folder}/{name}", status) for name, status in listed]

        found = self._ask(path, entries)
        return found if detail else [one["name"] for one in found]

    def makedirs(self, path, exist_ok=False):
        self._ask(path, lambda: self.client.makedirs(path))

    def mv(self, path1, path2, **options):
        self.info(path1)
        rename, is_done = partial(self.client.rename, path1, path2), self.is_moved(path1, path2)
        try:
            self._ask(path1, rename, is_done)
        except RequestRefused:  # the library itself may have asked two NameNodes
            if not is_done():
                raise

    def rm(self, path, recursive=False, maxdepth=None):
        self.info(path)
        delete, is_gone = partial(self.client.delete, path, recursive=recursive), self.is_gone(path)
        # The library itself may have asked two NameNodes, of which the second finds nothing.
        if not (self._ask(path, delete, is_gone) or is_gone()):
            raise RequestRefused(f"{path} was not removed")

    def _open(self, path, mode="rb", **options):
        if mode == "rb":
            about = self.info(path)
            if about["type"] == "directory":
                raise IsADirectoryError(f"{path} is a directory")
            reader = WebReader(self.uri(path), path, about["size"], Detour(self))
            return io.BufferedReader(reader, BUFFER)
        if mode == "wb":
            return UploadOnClose(WebWrite(path, Detour(self)).send, self.uri(path))
        raise ValueError(f"mode must be rb or wb, got {mode}")

    def _ask(self, path, call, is_done=None):
        def question():
            with plain(path):
                return call()

        return self.name_node.ask(question, is_done)


class WebWrite:
    """Writes a whole file."""

    def __init__(self, path, detour):
        self._path, self._detour = path, detour

    def send(self, content):
        with plain(self._path), self._detour.client() as client:
            client.write(self._path, data=content, overwrite=True)


class WebReader(RangeReader):
    """A file opened for reading, unbuffered: one request for each range."""

    def __init__(self, uri, path, size, detour):
        super().__init__(uri, size)
        self._path, self._detour = path, detour

    def read_range(self, start, length):
        """Reads a range; after a failure, retries from another DataNode."""
        return again(lambda: self._read(start, length), TRIES)

    def _read(self, start, length):
        request = {"offset": start, "length": length, "chunk_size": min(length, BUFFER)}
        with plain(self._path), self._detour.client() as client:
            with client.read(self._path, **request) as pieces:
                content = b"".join(until_passed(length, pieces))
        if len(content) != length:
            got = "more" if len(content) > length else len(content)
            raise OSError(f"{length} bytes were requested, got {got}")
        return content


def until_passed(length, pieces):
    """Yields pieces of bytes, until they exceed `length` bytes in total."""
    for piece in pieces:
        yield piece
        length -= len(piece)
        if length < 0:
            return


def entry(path, status):
    """Converts a file's status to fsspec's info dict."""
    size, modified = status["length"], status["modificationTime"]
    if not (is_integer(size, 0) and size < LARGEST):
        raise RequestRefused(f"FileStatus.length must be an integer >= 0, got {brief(size)}")
    if not (is_integer(modified) and abs(modified) < LATEST):
        text = f"FileStatus.modificationTime must be milliseconds from 1970, got {brief(modified)}"
        raise RequestRefused(text)
    return {
        "name": path,
        "size": size,
        "type": "directory" if status["type"] == "DIRECTORY" else "file",
        "modified": as_time(modified),
    }
