"""File access: local paths, HDFS, and any other URI that fsspec supports.

Used as `files.open(...)`. Paths are strings or Paths; errors are DataErrors that name them.
"""

import os
import re
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import finalize

from fsspec.implementations.local import LocalFileSystem

from sparkdl.data import object_stores
from sparkdl.data.disk_sync import sync_folder, sync_tree
from sparkdl.data.file_kinds import refuse_other_kinds, special_kind
from sparkdl.data.file_systems import is_local, is_object_store, name_errors, resolve
from sparkdl.data.ordered_calls import THREADS, each_in_order
from sparkdl.errors import DataError

UPLOAD = "._COPYING_"  # suffix of files that `hdfs dfs -put` has not fully copied yet
READ_AHEAD, MOST_AHEAD = 2**20, 2**24  # bytes of an object; s3fs reads 50 MB, always
HIDDEN = re.compile(r"\.(.+)\.(new|old)-[0-9a-f]{8}")  # names from `_beside`


def open(path, mode="rb", wanted=0):
    """Opens a file for reading or writing; missing parent folders of a written file are created.

    An object store sends bytes that are read in parts of about as many as are `wanted`.
    """
    with name_errors(path, "opened"):
        fs, inner = resolve(path)
        if "w" in mode:
            _make_parents(path, fs, inner)
        if not is_object_store(path):
            file = fs.open(inner, mode)
        elif "r" in mode:
            ahead = min(max(wanted, READ_AHEAD), MOST_AHEAD)
            file = fs.open(inner, mode, block_size=ahead)
        else:
            file = fs.open(inner, mode)
            _name_write_errors(path, file)
    finalize(file, id, fs).atexit = False  # a garbage-collected archive would close its open files
    return file


def read(path):
    """Returns the contents of a file, with a single request to an object store."""
    with name_errors(path, "opened"):
        fs, inner = resolve(path)
        if fs.async_impl:
            failed = OSError if is_object_store(path) else Exception
            with suppress(failed):  # `open` reports it; or the file is empty
                return fs.cat_file(inner, start=0)  # without `start`, s3fs first asks for the size
    with name_errors(path, "read"), open(path) as file:
        return file.read()


def head(path, nbytes):
    """Returns the first bytes of a file, at most `nbytes`; one request to an object store."""
    return _part(path, 0, nbytes)


def tail(path, nbytes, length):
    """Returns the last bytes of a file of this length, at most `nbytes`; requests as `head`."""
    return _part(path, max(0, length - nbytes), length)


def _part(path, start, stop):
    if is_object_store(path):
        with name_errors(path, "opened"), suppress(OSError):  # `open` reports it; or it is empty
            fs, inner = resolve(path)
            return fs.cat_file(inner, start=start, end=stop)
    with name_errors(path, "read"), open(path) as file:
        file.seek(start)
        return file.read(stop - start)


def write(path, content):
    """Atomically writes `content`, bytes, to the file `path`."""
    path = os.fspath(path)
    with name_errors(path, "written"):
        fs, inner = resolve(path)
        refuse_other_kinds(path, fs, inner)
        if is_object_store(path):
            fs.pipe_file(inner, content)
            return
        _make_parents(path, fs, inner)
        temporary = _beside(inner, "new")
        try:
            with fs.open(temporary, "wb") as file:
                file.write(content)
            _replace(path, fs, temporary, inner)
        except BaseException:
            with suppress(OSError):
                fs.rm(temporary)
            raise


def exists(path):
    """Returns whether a file or folder exists."""
    with name_errors(path, "looked up"):
        fs, inner = resolve(path)
        return fs.exists(inner)


def check_free(path, kind=DataError):
    """Raises an error of this kind if a file or folder exists."""
    if exists(path):
        raise kind(f"{path}: something is there already; remove it or choose another path")


def is_directory(path):
    """Returns whether a folder exists."""
    with name_errors(path, "looked up"):
        fs, inner = resolve(path)
        return fs.isdir(inner)


def check_parents(path):
    """Raises DataError for a path below a file, in a read-only folder, or without a bucket."""
    if is_object_store(path):
        with name_errors(path, "written"):
            object_stores.check_bucket(path, *resolve(path))
    if not is_local(path):
        return
    for parent in Path(absolute(path)).parents:
        if os.path.isdir(parent):
            if not os.access(parent, os.W_OK | os.X_OK):
                raise DataError(f"{path}: cannot be written, {parent} is read-only for this user")
            return
        if os.path.exists(parent):
            raise DataError(f"{path}: cannot be written, {parent} is a file")


def check_file(path):
    """Raises DataError for a path below a file, or of a folder, pipe or device."""
    check_parents(path)
    with name_errors(path, "written"):
        refuse_other_kinds(path, *resolve(path))


def check_replaceable(path):
    """Raises DataError if nothing can be renamed to the path: a pipe, device or whole bucket."""
    if kind := special_kind(path):
        raise DataError(f"{path}: must be the path of a file or folder, got {kind}")
    if is_object_store(path):
        object_stores.check_key(os.fspath(path), resolve(path)[1])


def size(path):
    """Returns the size of a file in bytes; DataError if its file system does not tell it."""
    with name_errors(path, "looked up"):
        fs, inner = resolve(path)
        nbytes = fs.size(inner)
    if nbytes is None:  # of web servers that compress, or make, what they send
        raise DataError(f"{path}: must have a known size, got none; copy it to another file system")
    return nbytes


def list(path):
    """Returns the sorted names in a folder."""
    return [name for name, _ in _entries(path)]


def folders(path):
    """Returns the sorted names of the folders in a folder, from its listing."""
    root = os.fspath(path).rstrip("/")
    return [name for name, entry in _entries(path) if _is_folder(f"{root}/{name}", entry)]


def is_hidden(name):
    """Returns whether Spark ignores files and folders of this name, such as unfinished output.

    These are names that begin with "." or "_", and uploads in progress. But _day=1 is a folder of
    the partition column _day.
    """
    marked = name.startswith("_") and "=" not in name
    return name.startswith(".") or marked or name.endswith(UPLOAD)


def is_dotted(name):
    """Returns whether a name begins with "."; cameras use names such as _MG_1234.JPG."""
    return name.startswith(".")


def tree(path, hidden=is_hidden):
    """Returns the sorted paths of all files below a folder, except those with hidden names."""
    return [*walk(path, hidden)]


def walk(path, hidden=is_hidden, above=()):
    """Yields the paths of `tree` one by one; `above` has the identities of the parent folders.

    A link to one of these is skipped.
    """
    for below, _ in walk_entries(path, hidden, above):
        yield below


def walk_entries(path, hidden=is_hidden, above=(), entries=None):
    """Yields (path, entry) of `walk`, with the dict by which the file system lists it.

    `entries` are those of the folder if they are known.
    """
    entries = _entries(path) if entries is None else entries
    root, place = os.fspath(path).rstrip("/"), _place(path)
    if place in above:
        return
    shown = [(f"{root}/{name}", entry) for name, entry in entries if not hidden(name)]
    inner = {number for number, one in enumerate(shown) if _is_folder(*one)}
    folders = [shown[number][0] for number in sorted(inner)]
    with each_in_order(_entries, folders, ahead=THREADS) as listed:
        for number, (below, entry) in enumerate(shown):
            if number in inner:
                yield from walk_entries(below, hidden, (*above, place), next(listed))
            else:
                yield below, entry


def _is_folder(path, entry):
    """Returns whether a path is a folder, or a link to one, by the entry in its listing."""
    kind = entry["type"]
    return kind == "directory" or (kind != "file" and is_directory(path))


def _place(path):
    """Returns the identity of a folder, equal for all paths that lead to it."""
    if not is_local(path):
        return os.fspath(path)
    with name_errors(path, "listed"):
        found = os.stat(local_path(path))
    return found.st_dev, found.st_ino


def forget_listings(paths):
    """Makes the file systems of paths list them anew, as some cache listings.

    File systems that cannot be reached are skipped.
    """
    for path in paths:
        with suppress(DataError):
            resolve(path)[0].invalidate_cache()


def remove(path):
    """Deletes a file, or a folder with its contents, if it exists."""
    with name_errors(path, "removed"), suppress(FileNotFoundError):
        fs, inner = resolve(path)
        _remove(path, fs, inner)


def move(path, target):
    """Renames a file or folder; `target` must not exist."""
    with name_errors(path, "moved"):
        fs, inner = resolve(path)
        _move(path, fs, inner, resolve(target)[1])


@contextmanager
def atomic_directory(path):
    """Creates a new folder, which replaces `path` if the block ends without an error.

    Yields its path, beside `path`; see `atomic_path`.
    """
    with atomic_path(path) as temporary:
        with name_errors(path, "written"):
            fs, inner = resolve(temporary)
            if not is_object_store(path):
                fs.makedirs(inner)
        yield temporary


@contextmanager
def atomic_path(path):
    """Yields a path beside `path`, which replaces `path` if the block ends without an error.

    After an error it is deleted, and `path` is unchanged. Readers see either the old or the new
    file or folder, complete.
    """
    path = os.fspath(path).rstrip("/")
    with name_errors(path, "written"):
        check_replaceable(path)
        fs, inner = resolve(path)
        temporary = _beside(path, "new")
    try:
        yield temporary
        with name_errors(path, "written"):
            _replace(path, fs, resolve(temporary)[1], inner)
    except BaseException as error:
        with suppress(OSError, DataError):
            remove(temporary)
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            text = f"{path}: cannot be written: {error.strerror or error}"
            raise DataError(text) from error
        raise


def absolute(path):
    """Returns the path for use in other processes: local paths absolute, URIs unchanged."""
    return resolve(path)[1] if is_local(path) else os.fspath(path)


def local_path(path, reason="it is memory-mapped; copy it to every machine"):
    """Returns the absolute path of a local path or a file: URI.

    Raises
    ------
    DataError
        If it is on another file system, with the reason.
    """
    if not is_local(path):
        raise DataError(f"{path}: must be a local path, for {reason}")
    return resolve(path)[1]


def _entries(path):
    """Returns the sorted (name, entry) of a folder, from a single listing."""
    with name_errors(path, "listed"):
        fs, inner = resolve(path)
        if is_object_store(path):
            entries = object_stores.entries(fs, inner)
        else:
            entries = fs.ls(inner, detail=True) if fs.isdir(inner) else None
    if entries is None:
        raise DataError(f"{path}: there is no such folder")
    named = ((one["name"].rstrip("/").rpartition("/")[2], one) for one in entries)
    return sorted(named, key=lambda pair: (pair[0], pair[1]["type"]))


def _name_write_errors(path, file):
    """Makes errors of a written object name its path; most come only when it is closed."""
    for name in ("write", "close"):
        setattr(file, name, name_errors(path, "written")(getattr(file, name)))


def _make_parents(path, fs, inner):
    """Creates the folders above a file; an object needs none, and buckets are not ours to make."""
    if not is_object_store(path):
        fs.makedirs(_parent(inner), exist_ok=True)


def _move(path, fs, inner, target):
    if is_object_store(path):
        object_stores.move(fs, inner, target)
    else:
        fs.mv(inner, target, recursive=True)


def _remove(path, fs, inner):
    if is_object_store(path):
        object_stores.remove(fs, inner)
    else:
        fs.rm(inner, recursive=True)


def _replace(path, fs, new, target):
    """Renames `new` to `target`; an existing `target` is first renamed, then deleted.

    On a local disk, the new one is flushed before the old one is deleted.
    """
    if is_object_store(path) and object_stores.replace(fs, new, target):
        return
    is_local_disk = isinstance(fs, LocalFileSystem)
    if is_local_disk:
        sync_tree(new)
    old = _beside(target, "old") if fs.exists(target) else None
    if old:
        _move(path, fs, target, old)
    try:
        _move(path, fs, new, target)
    except BaseException:
        if old:
            if is_object_store(path):
                with suppress(Exception):  # nothing of the new one stays beside the old one
                    _remove(path, fs, target)
            _move(path, fs, old, target)
        raise
    if is_local_disk:
        sync_folder(_parent(target))
    if old:
        _remove(path, fs, old)


def parse_hidden(name):
    """Returns (name, "new" or "old") for a temporary name made by `_beside`, else None."""
    match = HIDDEN.fullmatch(name)
    return match and match.groups()


def _beside(path, what):
    parent, _, name = path.rpartition("/")
    hidden = f".{name}.{what}-{uuid.uuid4().hex[:8]}"
    return f"{parent}/{hidden}" if parent else f"{'/' if path[0] == '/' else ''}{hidden}"


def _parent(inner):
    return inner.rpartition("/")[0] or "/"
