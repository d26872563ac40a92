"""Safe access to LMDB files: each opened once per process, and checked for truncation.

LMDB maps its file into memory. Reading past the end of a truncated file would kill the process with
SIGBUS, so its size is compared with the size that it states.
"""

import os
import struct
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import lmdb

from sparkdl.data import files
from sparkdl.data.files import is_local, local_path
from sparkdl.data.host_copy import host_copy
from sparkdl.data.readers.lmdb_files.file_layout import LARGEST_PAGE, MAGIC, VERSION
from sparkdl.data.readers.lmdb_files.pages import Damage, check_ends, check_range, tree_of
from sparkdl.errors import DataError

META_PAGE = struct.Struct("=16xIIQQI92xQQ")  # also the page size, last page and transaction
CURE = "copy or convert it again"
OPEN = "already open in this process"  # LMDB's message if other code has the file open here
ADDRESSES = (
    "a mapped file takes address space, not memory: raise `ulimit -v`, or leave out "
    "spark.executor.pyspark.memory"
)

_open: dict[
    tuple[int, int], Any
] = {}  # {(device, inode): _Entry}; LMDB cannot open a file twice in a process
_lock = threading.Lock()


@dataclass
class _Entry:
    environment: lmdb.Environment
    users: int = 0


class Meta(NamedTuple):
    """A meta page; of the two, the one with the later transaction is valid."""

    transaction: int
    page_size: int
    last_page: int


@contextmanager
def reading(path, first=None, stop=None, ends=False):
    """Opens a read-only transaction without locks; processes share the mapped memory.

    First checks the pages on the way to keys `first` to `stop`; with `ends`, only those to the
    first and last key.

    Parameters
    ----------
    path : str
        The folder of data.mdb, or such a file; a remote one is first copied to this host.

    Raises
    ------
    DataError
        If it is missing, not an LMDB or truncated, or LMDB finds it damaged.
    """
    file = data_file(path)
    try:
        with _environment(path, file) as environment:
            if ends:
                check_ends(file)
            else:
                check_range(file, first, stop)
            with environment.begin(buffers=True) as transaction:
                yield transaction
    except lmdb.MemoryError as error:
        text = f"its {os.path.getsize(file)} bytes cannot be mapped: {error}; {ADDRESSES}"
        raise DataError(f"{path}: {text}") from error
    except (lmdb.Error, Damage) as error:
        raise DataError(f"{path}: {_describe(error)}") from error


def _describe(error):
    """Returns the defect of a file, and its cure."""
    text = str(error).rstrip(".")
    if text.endswith(OPEN):
        return "must not be open elsewhere in this process; close the lmdb.Environment"
    return f"cannot be read as an LMDB: {text}; {CURE}"


def data_file(path):
    """Returns the absolute path of the data file, or of this host's copy of it."""
    if not is_local(path):
        return os.path.realpath(host_copy(remote_file(path)))
    file_path = local_path(path)
    if os.path.isdir(file_path):
        inner = os.path.join(file_path, "data.mdb")
        if os.path.isfile(inner):
            return os.path.realpath(inner)
        raise DataError(f"{path}: must be an LMDB, but the folder has no data.mdb")
    if os.path.isfile(file_path):
        return os.path.realpath(file_path)
    raise DataError(f"{path}: there is no such LMDB; the path must exist on every machine")


def remote_file(path):
    """Returns the data file of an LMDB on another file system."""
    if not files.is_directory(path):
        return path
    inner = f"{path.rstrip('/')}/data.mdb"
    if files.exists(inner):
        return inner
    raise DataError(f"{path}: must be an LMDB, but the folder has no data.mdb")


def check_file(path, file):
    """Raises DataError unless the file is an LMDB and not truncated."""
    size = os.path.getsize(file)
    with open(file, "rb") as content:
        first = _meta(path, content.read(META_PAGE.size))
        content.seek(first.page_size)
        page = content.read(META_PAGE.size)
    second = _meta(path, page) if size >= 2 * first.page_size else first
    latest = max(first, second)
    need = max((latest.last_page + 1) * latest.page_size, 2 * first.page_size)
    if size < need:
        raise DataError(f"{path}: cut short, it must have {need} bytes, got {size}; {CURE}")


def _meta(path, page):
    if len(page) < META_PAGE.size:
        raise DataError(f"{path}: must be an LMDB, got {len(page)} bytes; {CURE}")
    magic, version, _, _, page_size, last_page, transaction = META_PAGE.unpack_from(page)
    if magic != MAGIC or not 0 < page_size <= LARGEST_PAGE:
        raise DataError(f"{path}: must be an LMDB, but does not begin like one; {CURE}")
    if version != VERSION:
        raise DataError(f"{path}: must be an LMDB of format {VERSION}, got {version}; convert it")
    return Meta(transaction, page_size, last_page)


@contextmanager
def _environment(path, file):
    status = os.stat(file)
    key = status.st_dev, status.st_ino
    with _lock:
        entry = _open.get(key)
        if entry is None:
            check_file(path, file)
            tree_of(file)  # a file can request any address for its map
            entry = _open[key] = _Entry(_map(file))
        entry.users += 1
    try:
        yield entry.environment
    finally:
        _release(key, entry)


def _map(file):
    return lmdb.open(file, subdir=False, readonly=True, lock=False, create=False)


def _release(key, entry):
    with _lock:
        entry.users -= 1
        if entry.users == 0 and _open.get(key) is entry:  # else this process is a fork
            _open.pop(key).environment.close()


def _forget() -> None:
    """Closes inherited environments after a fork; the parent's remain open."""
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it
    while _open:
        _open.popitem()[1].environment.close()


os.register_at_fork(after_in_child=_forget)
