"""Streams of HDFS files: reads of ranges, writes on close, retries and errors."""

import io
import os
import platform
import tempfile
import time

from sparkdl.errors import DataError, named

IN_MEMORY = 2**26  # bytes of a file being written that stay in memory, not on disk
PAUSE, TRIES = 0.5, 7  # seconds, doubled each time: 32 in total, until a dead node is noticed


class RequestRefused(OSError):
    """An answer, not a failure: retrying is useless."""


class NoAnswer(RequestRefused):
    """A failure that further tries do not mend, although nobody has answered."""


class Unreachable(OSError):
    """A NameNode that is down or has broken off a call; it may answer later."""


class Starting(Unreachable):
    """A NameNode that says that it will take the call as soon as it has started."""


class AnotherWayLeft(OSError):
    """A failure after which the next try goes another way, so nothing need be waited for."""


ANSWERS = RequestRefused, FileNotFoundError, IsADirectoryError
# Made here of others, whose reason they have
CONVERTED = OSError, RequestRefused, NoAnswer, Unreachable, Starting, AnotherWayLeft


class RangeReader(io.RawIOBase):
    """A file read in ranges by `read_range(start, length)`.

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
        except OSError as error:  # caught here, as callers do not know the file's name
            where = f"from byte {self._at} on {platform.node()}"
            raise DataError(f"{self.uri}: cannot be read {where}: {reason(error)}") from error
        self._at += len(content)
        return content


class UploadOnClose(io.RawIOBase):
    """A file being written. It is spooled until it is closed, so that the upload can be retried.

    Parameters
    ----------
    send : function of a file with the whole contents
    uri : str or None
        Named in the DataError of a failed close; None: the OSError of `send` is raised.
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
    """Calls attempt() until it succeeds, at most `tries` times, with pauses in between.

    Retries only after OSErrors of the network or a node. A try that goes another way than the one
    before comes at once, and does not count.
    """
    pauses = [PAUSE * 2**number for number in range(tries - 1)]
    while True:
        try:
            return attempt()
        except ANSWERS:
            raise
        except AnotherWayLeft:
            continue
        except OSError:
            if not pauses:
                raise
            time.sleep(pauses.pop(0))


def reason(error):
    """Returns the first line of an error, without the server's Java stack trace.

    A line without words, as a path, is named by the error's class, unless it is one of CONVERTED.
    """
    kind, line = type(error), first_line(error)
    return line if line and kind in CONVERTED else named(kind.__name__, line)


def first_line(error):
    return str(error).split("\n")[0].strip()
