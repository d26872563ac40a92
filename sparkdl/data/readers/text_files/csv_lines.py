"""Lines of a text file that is split at arbitrary bytes."""

import csv
import io
from contextlib import contextmanager
from threading import Lock

from sparkdl.data import files
from sparkdl.errors import DataError

CHUNK = 2**16
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"(\xb5/\xfd": "zstd"}  # read by Spark
_limit_lock = Lock()  # the limit is the process's, while several threads may read


def first_line(path, delimiter):
    """Returns the values in a file's first line."""
    content = files.head(path, CHUNK)
    if b"\n" in content:
        content = content[: content.index(b"\n") + 1]
    elif len(content) == CHUNK:
        with files.open(path) as file:
            content = _until_break(file)
    try:
        text = content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        kinds = [kind for magic, kind in COMPRESSED.items() if content.startswith(magic)]
        if kinds:
            text = f"must be text, but is compressed by {kinds[0]}; unpack it, or give a DataFrame"
            raise DataError(f"{path}: {text} of spark.read.csv, which reads it") from None
        raise DataError(f"{path}: must be UTF-8: {error}") from None
    return _values(text, delimiter, path)


def lines_between(file, start, stop, skip):
    """Returns the bytes of all lines that begin in bytes [start, stop) of an open file.

    Parameters
    ----------
    skip : bool
        Whether to skip the first line of the file.
    """
    first = max(start - 1, 0)
    file.seek(first)
    content = file.read(stop - first)
    if not content.endswith(b"\n"):
        content += _until_break(file)
    if start > 0 or skip:  # bytes before the first line break belong to another split
        content = content[content.find(b"\n") + 1 or len(content) :]
    return content.removeprefix(b"\xef\xbb\xbf") if start == 0 else content


def _values(text, delimiter, path):
    """Parses the values of a line."""
    try:
        with _no_size_limit():
            return next(csv.reader(io.StringIO(text), delimiter=delimiter), [""])
    except csv.Error as error:
        alone = "its lines must end in \\n or \\r\\n, but end in \\r"
        reason = alone if "\r" in text else error
        raise DataError(f"{path}: {reason}") from None


@contextmanager
def _no_size_limit():
    """Lets csv parse values of any size, as the parser of the other lines does."""
    with _limit_lock:
        limit = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _until_break(file):
    """Reads up to and including the next line break."""
    pieces = []
    while piece := file.read(CHUNK):
        end = piece.find(b"\n") + 1
        pieces.append(piece[:end] if end else piece)
        if end:
            break
    return b"".join(pieces)
