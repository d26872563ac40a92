"""Files of HDFS: reads by ranges, writes at the close, retries and errors."""

import io
import os
import platform
import tempfile
import time

from sparkdl.errors import DataError

IN_MEMORY = 2**26  # bytes of a file to write; longer ones lie on this host's disk meanwhile
PAUSE, TRIES = 0.5, 7  # seconds, doubled each time: 32 in all, while a node dies and is missed


class RequestRefused(OSError):
    """An answer, not a failure: asking again is of no use."""


class RangeReader(io.RawIOBase):
    """A file whose bytes come by `read_range(start, length)`.

    Parameters
    ----------
    uri : str
    size : int
        Bytes.
    """

    def __init__(self, uri, size):
        self.uri, self.size, self._at = uri, size, 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self._at

    def seek(self, offset, whence=os.SEEK_SET):
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError(f"{self.uri}: cannot seek to {start + offset}")
        self._at = start + offset
        return self._at

    def readinto(self, buffer):
        content = self._next(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def readall(self):
        return self._next(self.size)

    def _next(self, limit):
        length = max(0, min(limit, self.size - self._at))
        try:
            content = self.read_range(self._at, length) if length else b""
        except OSError as error:  # here, for who reads does not know whose file it is
            where = f"from byte {self._at} on {platform.node()}"
            raise DataError(f"{self.uri}: cannot be read {where}: {reason(error)}") from error
        self._at += len(content)
        return content


class UploadOnClose(io.RawIOBase):
    """A file to write. It lies here until it is closed, so that it can be sent again as a whole.

    Parameters
    ----------
    send : function of a file with all that was written
    uri : str or None
        Which a DataError of the close names; None: the OSError of `send` is raised.
    """

    def __init__(self, send, uri=None):
        self._send, self._uri = send, uri
        self._file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115, until close

    def writable(self):
        return True

    def tell(self):
        return self._file.tell()

    def write(self, content):
        return self._file.write(content)

    def close(self):
        if not self.closed:
            super().close()
            try:
                with self._file:
                    again(self._from_start, TRIES)
            except OSError as error:
                if self._uri is None:
                    raise
                raise DataError(f"{self._uri}: cannot be written: {reason(error)}") from error

    def _from_start(self):
        self._file.seek(0)
        self._send(self._file)


def again(attempt, tries):
    """Calls attempt() until it succeeds, so many tries.

    Only an OSError of the network or a node is waited out.
    """
    for remaining in reversed(range(tries)):
        try:
            return attempt()
        except (RequestRefused, FileNotFoundError, IsADirectoryError):
            raise
        except OSError:
            if not remaining:
                raise
            time.sleep(PAUSE * 2 ** (tries - remaining - 1))


def reason(error):
    """Returns the first line of an error, without the stack of the server's Java."""
    return str(error).split("\n")[0].strip() or type(error).__name__
