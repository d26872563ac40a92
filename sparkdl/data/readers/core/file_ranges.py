"""Files of a source, and their division into ranges of bytes or records."""

import logging
import math
import os
from dataclasses import dataclass
from functools import cache

from sparkdl.config import is_integer
from sparkdl.data import files
from sparkdl.data.ordered_calls import each_in_order
from sparkdl.data.source import MOST_SPLITS, Split
from sparkdl.errors import DataError

SMALLEST_RANGE = 2**20
log = logging.getLogger("sparkdl.data")


@dataclass(frozen=True, kw_only=True)
class ByteSplit(Split):
    """The records that begin in bytes `start` to `stop` (exclusive) of a file."""

    path: str
    start: int
    stop: int

    def spans(self) -> list[tuple[str, int, int | None]]:
        return [(self.path, self.start, self.stop)]


@dataclass(frozen=True, kw_only=True)
class RecordRange(Split):
    """Records `start` to `stop` (exclusive) of a file."""

    path: str
    start: int
    stop: int

    def __str__(self) -> str:
        return f"{self.path}, records from {self.start}"

    def spans(self) -> list[tuple[str, int, int | None]]:
        return [(self.path, 0, None)]


def open_listed(split, stop):
    """Opens the file of a split; raises DataError unless it still has `stop` bytes."""
    file = files.open(split.path, wanted=stop - getattr(split, "start", 0))
    try:
        require_as_listed(split.path, "bytes", stop, min(stop, length_of(split.path, file)))
    except BaseException:
        file.close()
        raise
    return file


def length_of(path, file):
    """Returns the size of a newly opened file; raises DataError if it cannot seek."""
    try:
        length = file.seek(0, os.SEEK_END)
        file.seek(0)
        return length
    except ValueError as error:  # from web servers without range requests
        text = f"must be seekable, got: {error}; copy it to another file system"
        raise DataError(f"{path}: {text}") from None


def require_as_listed(where, what, listed, count):
    """Raises DataError unless the count is the same as when files were listed."""
    if count != listed:
        text = f"must have {listed} {what}, got {count}; was it changed since it was listed?"
        raise DataError(f"{where}: {text}")


def data_files(path, endings=()):
    """Returns sorted absolute paths: `path` itself, or all files below it with given `endings`.

    Without `endings`, all files count.

    Raises
    ------
    DataError
        If there are none.
    """
    return [*list_data(path, endings)]


def data_sizes(path, endings=()):
    """Returns {path: bytes} of the files of `data_files`."""
    sizes = list_data(path, endings)
    unknown = [one for one, size in sizes.items() if size is None]
    with each_in_order(files.size, unknown) as found:
        return sizes | dict(zip(unknown, found, strict=True))


def list_data(path, endings):
    """Returns {path: bytes, or None if they are yet to be asked for} of the files of a source.

    Files of other endings are logged.
    """
    files.forget_listings([path])
    if not files.is_directory(path):
        return {files.absolute(path): None}
    sizes, others = {}, []
    for one, entry in files.walk_entries(files.absolute(path)):
        if endings and not one.lower().endswith(tuple(endings)):
            others.append(one)
        else:
            sizes[one] = entry["size"] if tells_size(entry) else None
    if not sizes:
        what = f"files that end in {' or '.join(endings)}" if endings else "files"
        raise DataError(f"{path}: must hold {what}, but has none")
    if others:
        tell_left_out(path, tuple(endings), len(others), others[0])
    return sizes


@cache
def tell_left_out(path, endings, count, example):
    """Logs once which files of a folder are not read, as they may be records without a name's end.

    Parameters
    ----------
    count : number of these files
    example : one of them
    """
    end = " or ".join(endings)
    text = "%s: files that do not end in %s are not read: %d, such as %s"
    log.warning(text, path, end, count, example)


def no_facts(paths):
    return ({} for _ in paths)


def tells_size(entry):
    """Returns whether a listing tells a file's size: web servers do not."""
    return entry["type"] == "file" and is_integer(entry["size"])


def byte_splits(kind, path, bytes_per_split=None, endings=(), about=no_facts):
    """Returns splits of files by bytes; reads only the files' sizes.

    Parameters
    ----------
    kind : subclass of ByteSplit
    path : str
        Path of the source.
    bytes_per_split : int or None
        None: 1 MiB, or more if that would give over 4,096 splits.
    endings : see `data_files`
    about : function paths of files -> iterator of {field of a file's splits: value}
    """
    ranges = byte_ranges(path, data_sizes(path, endings), bytes_per_split)
    paths = list(dict.fromkeys(one for one, *_ in ranges))
    known = dict(zip(paths, about(paths), strict=True))
    return [
        kind(partition=i, count=None, path=one, start=start, stop=stop, **known[one])
        for i, (one, start, stop) in enumerate(ranges)
    ]


def byte_ranges(path, sizes, bytes_per_split=None):
    """Returns the byte ranges (path, start, stop) of files, {path: bytes}, of a source's path."""
    total = sum(sizes.values())
    if total == 0:
        raise DataError(f"{path}: must hold records, but is empty")
    step = bytes_per_split or max(SMALLEST_RANGE, math.ceil(total / MOST_SPLITS))
    return [
        (one, start, min(start + step, size))
        for one, size in sizes.items()
        for start in range(0, size, step)
    ]
