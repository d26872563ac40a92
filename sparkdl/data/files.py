"""File access: local paths, HDFS, and any other URI that fsspec knows.

Used as `files.open(...)`; paths are strings or Paths, and what goes wrong is a DataError that
names them.
"""

import os
import re
import uuid
from contextlib import contextmanager, suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import fsspec

from sparkdl.data import hadoop
from sparkdl.errors import DataError

LOCAL = (None, "file", "local")
SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]+")  # of two letters at least: C: is a disk
SCHEMES = ("file", *hadoop.SCHEMES)  # which one slash may follow
LOCAL_URI = re.compile("(file|local):(//(?:localhost(?=/))?)?(.*)", re.DOTALL)
DIGESTS = ("ETag", "etag", "Content-MD5", "Digest", "md5Hash", "sha", "CRC")
TOLD = (  # of a file's changes, as its system calls it: times first
    *("modificationTime", "mtime", "modified", "LastModified", "Last-Modified", "last_modified"),
    *("modify", "updated", "created", "date_time"),
    *DIGESTS,
)
UPLOAD = "._COPYING_"  # ends the name of a file that `hdfs dfs -put` has not yet copied whole
HIDDEN = re.compile(r"\.(.+)\.(new|old)-[0-9a-f]{8}")  # what `_beside` names


def open(path, mode="rb"):
    """Opens a file for reading or writing; folders above one to write are made."""
    with _name_errors(path, "opened"):
        fs, inner = _resolve(path)
        if "w" in mode:
            fs.makedirs(_parent(inner), exist_ok=True)
        return fs.open(inner, mode)


def write(path, content):
    """Puts a file with `content`, bytes, at `path`, whole or not at all."""
    path = os.fspath(path)
    with _name_errors(path, "written"):
        fs, inner = _resolve(path)
        fs.makedirs(_parent(inner), exist_ok=True)
        temporary = _beside(inner, "new")
        try:
            with fs.open(temporary, "wb") as file:
                file.write(content)
            _replace(fs, temporary, inner)
        except BaseException:
            with suppress(OSError):
                fs.rm(temporary)
            raise


def exists(path):
    """Returns whether there is a file or a folder."""
    with _name_errors(path, "looked up"):
        fs, inner = _resolve(path)
        return fs.exists(inner)


def is_directory(path):
    """Returns whether there is a folder."""
    with _name_errors(path, "looked up"):
        fs, inner = _resolve(path)
        return fs.isdir(inner)


def check_parents(path):
    """Raises DataError where a local path is below a file."""
    if not is_local(path):
        return
    for parent in Path(absolute(path)).parents:
        if os.path.isdir(parent):
            return
        if os.path.exists(parent):
            raise DataError(f"{path}: cannot be written, {parent} is a file")


def size(path):
    """Returns the size of a file in bytes."""
    with _name_errors(path, "looked up"):
        fs, inner = _resolve(path)
        return fs.size(inner)


def stamp(path):
    """Returns (bytes, text that changes when the file is changed) of a file.

    The text is empty where its file system tells nothing of that.
    """
    with _name_errors(path, "looked up"):
        fs, inner = _resolve(path)
        about = fs.info(inner)
        told = {name: about.get(name) for name in TOLD} | {"time": _modified(fs, inner)}
    texts = [(name, str(what).strip('"')) for name, what in told.items() if what is not None]
    return about["size"], str(texts) if texts else ""


def has_digest(path):
    """Returns whether a file's system tells what is another with each content."""
    with _name_errors(path, "looked up"):
        fs, inner = _resolve(path)
        about = fs.info(inner)
    return any(about.get(name) for name in DIGESTS)


def modified(path):
    """Returns when a file was changed; None where its file system does not tell."""
    with _name_errors(path, "looked up"):
        fs, inner = _resolve(path)
        time = _modified(fs, inner)
        return _web_time(fs.info(inner).get("Last-Modified")) if time is None else time


def _modified(fs, inner):
    """Returns the datetime that a file system has for a file, or None."""
    with suppress(NotImplementedError, KeyError):
        time = fs.modified(inner)
        return time if isinstance(time, datetime) else None


def _web_time(text):
    """Returns the datetime of a header, None where it has none."""
    with suppress(TypeError, ValueError):
        return parsedate_to_datetime(text)


def is_local(path):
    """Returns whether the path is one of this machine's own file system."""
    return _scheme(path) in LOCAL


def list(path):
    """Returns the sorted names in a folder."""
    return [name for name, _ in _entries(path)]


def is_hidden(name):
    """Returns whether Spark hides files and folders of this name: marks, unfinished output.

    Those that begin with "." or "_", and uploads in progress; but _day=1 is a folder of the column
    _day.
    """
    marked = name.startswith("_") and "=" not in name
    return name.startswith(".") or marked or name.endswith(UPLOAD)


def is_dotted(name):
    """Returns whether a name begins with "."; cameras call images _MG_1234.JPG."""
    return name.startswith(".")


def tree(path, hidden=is_hidden):
    """Returns the sorted paths of all files below a folder, but those with hidden names."""
    return [*walk(path, hidden)]


def walk(path, hidden=is_hidden, above=()):
    """Yields what `tree` returns, one by one; `above` has the places of the folders above.

    A link to one of these leads to nothing new.
    """
    root, entries, place = os.fspath(path).rstrip("/"), _entries(path), _place(path)
    if place in above:
        return
    for name, kind in entries:
        if hidden(name):
            continue
        below = f"{root}/{name}"
        if kind == "directory" or (kind != "file" and is_directory(below)):  # or a link to one
            yield from walk(below, hidden, (*above, place))
        else:
            yield below


def _place(path):
    """Returns what paths that lead to one folder share, where there may be several."""
    if not is_local(path):
        return os.fspath(path)
    with _name_errors(path, "listed"):
        found = os.stat(local_path(path))
    return found.st_dev, found.st_ino


def forget_listings(paths):
    """Lets the file systems of paths list them anew: those of object stores keep what they list.

    Nothing happens where one cannot be reached.
    """
    for path in paths:
        with suppress(DataError):
            _resolve(path)[0].invalidate_cache()


def remove(path):
    """Deletes a file, or a folder and all in it; nothing happens where there is none."""
    with _name_errors(path, "removed"), suppress(FileNotFoundError):
        fs, inner = _resolve(path)
        fs.rm(inner, recursive=True)


def move(path, target):
    """Renames a file or folder; there must be nothing at `target`."""
    with _name_errors(path, "moved"):
        fs, inner = _resolve(path)
        fs.mv(inner, _resolve(target)[1], recursive=True)


@contextmanager
def atomic_directory(path):
    """Makes a new folder to write to, which replaces `path` if the block ends without an error.

    Yields the path of a new folder beside `path`; see `atomic_path`.
    """
    with atomic_path(path) as temporary:
        with _name_errors(path, "written"):
            fs, inner = _resolve(temporary)
            fs.makedirs(inner)
        yield temporary


@contextmanager
def atomic_path(path):
    """Yields a path beside `path`; what is written there replaces it if the block ends well.

    After an error it is deleted and what stood at `path` is untouched; readers see the old file or
    folder or the new one, whole.
    """
    path = os.fspath(path).rstrip("/")
    with _name_errors(path, "written"):
        fs, inner = _resolve(path)
        temporary = _beside(path, "new")
    try:
        yield temporary
        with _name_errors(path, "written"):
            _replace(fs, _resolve(temporary)[1], inner)
    except BaseException as error:
        with suppress(OSError):
            fs.rm(_resolve(temporary)[1], recursive=True)
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            text = f"{path}: cannot be written: {error.strerror or error}"
            raise DataError(text) from error
        raise


def absolute(path):
    """Returns the path as other processes can use it: local ones absolute, URIs as they are."""
    return _resolve(path)[1] if is_local(path) else os.fspath(path)


def local_path(path):
    """Returns the absolute path that a local path or a file: URI means.

    Raises
    ------
    DataError
        It is on another file system.
    """
    if not is_local(path):
        raise DataError(
            f"{path}: must be a local path, for it is memory-mapped; copy it to every machine"
        )
    return _resolve(path)[1]


def _entries(path):
    """Returns (name, kind) of what a folder holds, sorted; found in one go, not one by one."""
    with _name_errors(path, "listed"):
        fs, inner = _resolve(path)
        if not fs.isdir(inner):
            raise DataError(f"{path}: there is no such folder")
        entries = fs.ls(inner, detail=True)
    return sorted((one["name"].rstrip("/").rpartition("/")[2], one["type"]) for one in entries)


def _replace(fs, new, target):
    """Renames `new` to `target`; a full folder steps aside first, as no system can swap two."""
    if not fs.exists(target):
        return fs.mv(new, target, recursive=True)
    old = _beside(target, "old")
    fs.mv(target, old, recursive=True)
    try:
        fs.mv(new, target, recursive=True)
    except BaseException:
        fs.mv(old, target, recursive=True)
        raise
    fs.rm(old, recursive=True)


def parse_hidden(name):
    """Returns (name, "new" or "old") of what a write has put beside a name, or None."""
    match = HIDDEN.fullmatch(name)
    return match and match.groups()


def _beside(path, what):
    parent, _, name = path.rpartition("/")
    hidden = f".{name}.{what}-{uuid.uuid4().hex[:8]}"
    return f"{parent}/{hidden}" if parent else f"{'/' if path[0] == '/' else ''}{hidden}"


def _parent(inner):
    return inner.rpartition("/")[0] or "/"


def _scheme(path):
    path = _as_uri(path)
    scheme, colon, _ = path.partition(":")
    if colon and scheme in hadoop.SCHEMES:  # also hdfs:/path, as Hadoop writes it
        return scheme
    return fsspec.core.split_protocol(path)[0]


def _as_uri(path):
    """Returns the path as a text; the scheme of a URI, which ignores case, in small letters."""
    path = os.fspath(path)
    scheme, colon, rest = path.partition(":")
    if SCHEME.fullmatch(scheme) and (rest.startswith("//") or scheme.lower() in SCHEMES):
        scheme = scheme.lower()
    return f"{scheme}{colon}{rest}"


def _resolve(path):
    uri = _as_uri(path)
    local = LOCAL_URI.match(uri)
    if local:
        _refuse_relative(path, *local.groups())
    try:
        if _scheme(uri) in hadoop.SCHEMES:
            return hadoop.file_system(uri)
        if local or (_scheme(uri) is None and not _is_chain(uri)):
            fs = fsspec.filesystem("file")
            return fs, fs._strip_protocol(f"file://{local[3]}" if local else uri)
        return fsspec.core.url_to_fs(uri)
    except (ImportError, ValueError, OSError) as error:
        reason = str(error).split("\n")[0]
        raise DataError(f"{path}: its file system cannot be reached: {reason}") from error


def _is_chain(path):
    """Returns whether fsspec reads a path through another of its systems: simplecache::/a/b.

    Else "::" is a part of the path as any other.
    """
    first, colons, _ = path.partition("::")
    return bool(colons) and first in fsspec.available_protocols()


def _refuse_relative(path, scheme, slashes, rest):
    """Raises DataError unless a URI of this machine has an absolute path, as RFC 8089 asks."""
    if rest.startswith("/"):
        return
    if slashes:
        raise DataError(f"{path}: must be {scheme}:///..., for what follows {scheme}:// is a host")
    raise DataError(
        f"{path}: must be {scheme}:///absolute/path, for a URI has no relative path; "
        f"give that, or the path without {scheme}:"
    )


@contextmanager
def _name_errors(path, done):
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file or folder") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be {done}: {error.strerror or error}") from error
