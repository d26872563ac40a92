"""HDFS over HTTP (WebHDFS, HttpFS), with the library hdfs: where only web ports are open.

Slower than native RPC: a fourth of its rate where a file is read in order, a tenth for small ranges
(`python build.py bench hdfs`); and a replica that has died is found out by the NameNode only.
"""

import io
from contextlib import contextmanager
from functools import partial

from hdfs import HdfsError, InsecureClient
from requests import RequestException

from sparkdl.data.hadoop.base import HadoopFiles
from sparkdl.data.hadoop.configuration import Configuration, user
from sparkdl.data.hadoop.streams import RangeReader, RequestRefused, UploadOnClose, again, reason
from sparkdl.errors import UnsupportedError

BUFFER = 2**22  # bytes: a range costs two requests
TIMEOUTS = 10.0, 60.0  # seconds to connect, and for the next bytes
TRIES = 3  # of a range


class WebFiles(HadoopFiles):
    """A cluster's files.

    Parameters
    ----------
    scheme : str
        "webhdfs", or "swebhdfs" for HTTPS.
    authority : str
        host:port of a NameNode's web server or of HttpFS, or a name service; empty: as the
        configuration says.
    """

    protocol = ("webhdfs", "swebhdfs")

    @staticmethod
    def new_client(scheme, authority):
        """Returns a Client of all NameNodes of a name service: the one that is active answers."""
        conf = Configuration.read()
        protocol = "https" if scheme == "swebhdfs" else "http"
        addresses = conf.web_addresses(authority, protocol)
        urls = ";".join(f"{protocol}://{address}" for address in addresses)
        if not conf.is_secure:
            return InsecureClient(urls, user=user(), timeout=TIMEOUTS)
        try:
            from hdfs.ext.kerberos import KerberosClient
        except ImportError as error:
            raise UnsupportedError(
                f"{scheme}://{authority}: the cluster knows users by Kerberos, which needs the "
                "package requests-kerberos here: pip install 'sparkdl-hadoop[kerberos]', or use "
                "hdfs://, which needs none"
            ) from error
        return KerberosClient(urls, timeout=TIMEOUTS)

    def info(self, path, **options):
        with plain(path):
            return entry(path, self.client.status(path))

    def ls(self, path, detail=True, **options):
        with plain(path):
            listed = self.client.list(path, status=True)
        folder = path.rstrip("/")
        entries = [entry(f"{folder}/{name}", status) for name, status in listed]
        return entries if detail else [one["name"] for one in entries]

    def makedirs(self, path, exist_ok=False):
        with plain(path):
            self.client.makedirs(path)

    def mv(self, path1, path2, **options):
        self.info(path1)
        with plain(path1):
            self.client.rename(path1, path2)

    def rm(self, path, recursive=False, maxdepth=None):
        with plain(path):
            if not self.client.delete(path, recursive=recursive):
                raise FileNotFoundError(path)

    def _open(self, path, mode="rb", **options):
        if mode == "rb":
            about = self.info(path)
            if about["type"] == "directory":
                raise IsADirectoryError(f"{path} is a directory")
            reader = WebReader(self.uri(path), path, about["size"], self.client)
            return io.BufferedReader(reader, BUFFER)
        if mode == "wb":
            return UploadOnClose(partial(self._write, path))
        raise ValueError(f"mode must be rb or wb, got {mode}")

    def _write(self, path, content):
        with plain(path):
            self.client.write(path, data=content, overwrite=True)


class WebReader(RangeReader):
    """A file that is read, unbuffered: a request for each range."""

    def __init__(self, uri, path, size, client):
        super().__init__(uri, size)
        self._path, self._client = path, client

    def read_range(self, start, length):
        """Reads a range; after a failure again: another DataNode may be named then."""
        return again(lambda: self._read(start, length), TRIES)

    def _read(self, start, length):
        request = {"offset": start, "length": length, "chunk_size": length}
        with plain(self._path), self._client.read(self._path, **request) as pieces:
            content = b"".join(pieces)
        if len(content) < length:
            raise RequestException(f"{length} bytes were requested, got {len(content)}")
        return content


def entry(path, status):
    """Returns a file's status as fsspec's info dict."""
    return {
        "name": path,
        "size": status["length"],
        "type": "directory" if status["type"] == "DIRECTORY" else "file",
        "modified": status["modificationTime"],
    }


@contextmanager
def plain(path):
    """Raises errors of HDFS as OSErrors of one line; those of HTTP are OSErrors already."""
    try:
        yield
    except HdfsError as error:
        if error.exception == "FileNotFoundException":
            raise FileNotFoundError(path) from None
        raise RequestRefused(reason(error)) from error
