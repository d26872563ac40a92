"""Files of table rows in safetensors format, written in pieces and memory-mapped for reading."""

import hashlib
import json
import os
import re
import threading
import weakref
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparkdl.errors import CheckpointError, DataError, text_of
from sparkdl.nn.tables.row_store import IDS

KINDS = {"I64": np.dtype(np.int64), "I32": np.dtype(np.int32), "F32": np.dtype(np.float32)}
NAMES = {kind: name for name, kind in KINDS.items()}
LENGTH = 8  # bytes of the header's length
LARGEST_HEADER = 1 << 24
CHUNK = 1 << 24
SMALL = 1 << 22  # bytes below which files are read: a mapped one takes a file descriptor
KNOWN = weakref.WeakValueDictionary()  # {(path, sha256): TableFile} of this process
ALIVE = weakref.WeakSet()  # all TableFiles of this process
VERIFIED = {}  # {(sha256, path, ...): None} of this host's files that this process has verified
MOST_VERIFIED = 10_000  # the oldest are then verified again
_lock = threading.Lock()  # of ALIVE and VERIFIED, which must not change during iteration


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file with {"table/array": vector}, sorted by ids. A deep copy of it is itself.

    Parameters
    ----------
    path : str
    bytes : int
    sha256 : str
    folder : TableFolder or None
        The file's folder, kept for as long as this process has the file.
    """

    path: str
    bytes: int
    sha256: str
    folder: Any = None

    def __post_init__(self):
        KNOWN[self.path, self.sha256] = self
        with _lock:
            ALIVE.add(self)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return known_file, (self.path, self.bytes, self.sha256)

    def open(self):
        """Returns its arrays, read-only and mapped from this host's disk, where it is copied once.

        Raises
        ------
        CheckpointError
            If it is missing, is another file, or has no sorted rows.
        """
        from sparkdl.data import files  # tasks without rows don't need it
        from sparkdl.data.host_copy import host_copy

        try:
            if files.is_local(self.path):
                local = files.local_path(self.path)
                key = self._verify_once(local)
            else:
                local = host_copy(self.path, self.sha256)  # verifies it
                key = self.sha256, local
            read = np.fromfile if self.bytes < SMALL else partial(np.memmap, mode="r")
            arrays = map_arrays(self.path, np.asarray(read(local, np.uint8)))
        except (DataError, OSError) as error:
            raise CheckpointError(f"{self.path}: the rows cannot be read: {error}") from error
        if key not in VERIFIED:
            check_rows(self.path, arrays)
            note_verified(key)
        return arrays

    def _verify_once(self, local):
        """Verifies a file of this host unless this process has; returns its key in VERIFIED."""
        about = os.stat(local)
        self._check(about.st_size)
        key = self.sha256, local, about.st_ino, about.st_mtime_ns
        if key not in VERIFIED:
            with open(local, "rb") as file:
                self._check(*fingerprint(chunks_of(file)))
        return key

    def lengths(self):
        """Returns {"table/array": vector of its type and length}, zeros that take no memory.

        Only the file's header is read.
        """
        from sparkdl.data import files

        with files.open(self.path) as file:
            length = int.from_bytes(file.read(LENGTH), "little")
            header = file.read(min(length, LARGEST_HEADER))
        size = self.bytes - LENGTH - length
        entries = parse_header(self.path, header, length, size)
        return {n: np.broadcast_to(np.zeros(1, kind), count) for n, (kind, _, count) in entries}

    def copy_to(self, path):
        """Copies the file, verifying that its bytes are those that were written."""
        from sparkdl.data import files

        with files.open(self.path) as source, files.open(path, "wb") as out:
            self._check(*fingerprint(chunks_of(source), out.write))

    def verify(self, path=None):
        """Raises CheckpointError unless the file, or its copy, has the bytes that were written."""
        from sparkdl.data import files

        try:
            with files.open(path or self.path) as copy:
                self._check(*fingerprint(chunks_of(copy)))
        except (DataError, OSError) as error:
            raise CheckpointError(f"{self.path}: cannot be read: {error}") from error

    def _check(self, count, digest=None):
        for what, actual in (("bytes", count), ("sha256", digest)):
            expected = getattr(self, what)
            if actual not in (None, expected):
                text = f"damaged, {what} is {actual}, but {expected} was written"
                raise CheckpointError(f"{self.path}: {text}")


def note_verified(key):
    with _lock:
        VERIFIED[key] = None
        while len(VERIFIED) > MOST_VERIFIED:
            del VERIFIED[next(iter(VERIFIED))]


def known_file(path, count, sha256):
    """Returns this process's TableFile of these bytes at this path, or a new one."""
    return KNOWN.get((path, sha256)) or TableFile(path, count, sha256)


def chunks_of(file):
    """Yields the rest of an open file."""
    while chunk := file.read(CHUNK):
        yield chunk


def fingerprint(pieces, write=None):
    """Returns (bytes, SHA-256) of pieces of bytes, passing each to `write`."""
    digest, count = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        if write is not None:
            write(piece)
        count += len(piece)
    return count, digest.hexdigest()


def write_table_file(path, arrays):
    """Writes a file and returns its TableFile; only one piece is in memory at a time.

    Parameters
    ----------
    path : str
    arrays : iterable of (name, dtype, numbers, iterator of arrays)
        As RowStore.stream gives them.
    """
    from sparkdl.data import files

    arrays = sorted(arrays, key=lambda one: -one[1].itemsize)  # keeps all arrays aligned
    with files.open(path, "wb") as out:
        figures = fingerprint(pieces_of(arrays), out.write)
    return TableFile(path, *figures)


def pieces_of(arrays):
    """Yields the bytes of a file; see `write_table_file`."""
    header, at = {}, 0
    for name, kind, numbers, _ in arrays:
        end = at + numbers * kind.itemsize
        header[name] = {"dtype": NAMES[kind], "shape": [numbers], "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % LENGTH)
    yield len(text).to_bytes(LENGTH, "little") + text
    for *_, chunks in arrays:
        for chunk in chunks:
            yield memoryview(np.ascontiguousarray(chunk).reshape(-1)).cast("B")


def map_arrays(path, content):
    """Returns {name: array} of a complete file's bytes, uint8 (n,), as read-only views.

    Raises CheckpointError for a file of another kind.
    """
    content.flags.writeable = False
    length = int.from_bytes(bytes(content[:LENGTH]), "little")
    start = LENGTH + min(length, LARGEST_HEADER)
    entries = parse_header(path, bytes(content[LENGTH:start]), length, len(content) - start)
    body = content[start:]
    return {n: body[at : at + count * k.itemsize].view(k) for n, (k, at, count) in entries}


def parse_header(path, header, length, size):
    """Returns [(name, (dtype, offset, numbers))] of a header of `length` bytes before `size`
    others.

    Raises CheckpointError for an invalid header.
    """
    try:
        if len(header) < length:
            raise ValueError(f"a header of {length} bytes")
        entries = json.loads(header)
        entries.pop("__metadata__", None)
        return [(name, parse_entry(entry, size)) for name, entry in entries.items()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            f"{path}: must be a safetensors file of rows, got {text_of(error)}"
        ) from error


def parse_entry(entry, size):
    """Returns (dtype, offset, numbers) of an entry of a header."""
    start, end = entry["data_offsets"]
    [numbers] = entry["shape"]
    kind = KINDS[entry["dtype"]]
    if not all(type(number) is int for number in (start, end, numbers)):
        raise ValueError(f"numbers at {start} to {end}, {numbers} of them")
    if not 0 <= start <= end <= size or end - start != numbers * kind.itemsize:
        raise ValueError(f"numbers at {start} to {end} of {size} bytes")
    return kind, start, numbers


def check_rows(path, arrays):
    """Raises CheckpointError unless each table has sorted ids without duplicates."""
    for name, ids in arrays.items():
        sound = ids.dtype == np.int64 and (ids[1:] > ids[:-1]).all()
        if name.rpartition("/")[2] == IDS and not sound:
            raise CheckpointError(f"{path}: must have {name} in order, each once")


def known_among(paths):
    """Returns the set of those paths whose files may still be read by this process.

    The file system is ignored in comparisons, so a path on another one may be included.
    """
    with _lock:
        alive = list(ALIVE)
    plain = {plain_path(file.path) for file in alive}
    return {path for path in paths if plain_path(path) in plain}


def plain_path(path):
    """Returns a path without the file system of a URI."""
    return re.sub(r"/+", "/", re.sub(r"^[\w+.-]+:(//[^/]*)?", "", path))
