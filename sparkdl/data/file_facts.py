"""Facts about files from their file systems: size, and what reveals a change."""

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from sparkdl.data.file_systems import name_errors, resolve

DIGESTS = ("ETag", "etag", "Content-MD5", "Digest", "md5Hash", "sha", "CRC")
TOLD = (  # keys of the file systems that reveal changes, times first
    *("modificationTime", "mtime", "modified", "LastModified", "Last-Modified", "last_modified"),
    *("modify", "updated", "created", "date_time"),
    *DIGESTS,
)
TIMES = ("mtime", "modified", "LastModified", "last_modified")


class About(NamedTuple):
    """Facts about a file or folder from one request to its file system.

    Attributes
    ----------
    kind : str
        "file", "directory" or another.
    size : int
        Bytes.
    stamp : str
        Changes when the file changes; empty if the file system reveals no changes.
    modified : datetime or None
        Time of the last change; None if unknown.
    has_digest : bool
        Whether the file system provides a digest of the contents.
    asked : datetime
        Time of the request; later changes are not reflected.
    """

    kind: str
    size: int
    stamp: str
    modified: datetime | None
    has_digest: bool
    asked: datetime


def describe(path, told=None):
    """Returns the facts About a file or folder, usually with a single request.

    `told` is what its file system has just told in a listing, which saves the request.
    """
    asked = datetime.now(UTC)
    with name_errors(path, "looked up"):
        fs, inner = resolve(path)
        told = told or fs.info(inner)
        time = None if told["type"] == "directory" else _modified(fs, inner, told)
    known = {name: told.get(name) for name in TOLD} | {"time": time}
    texts = [(name, str(what).strip('"')) for name, what in known.items() if what is not None]
    has_digest = any(told.get(name) for name in DIGESTS)
    modified = _web_time(told.get("Last-Modified")) if time is None else time
    stamp = str(texts) if texts else ""
    return About(told["type"], told["size"], stamp, modified, has_digest, asked)


def _modified(fs, inner, told):
    """Returns a file's modification time or None; asks the file system if it was not told."""
    times = (told[name] for name in TIMES if isinstance(told.get(name), datetime))
    with suppress(NotImplementedError, KeyError):
        time = next(times, None) or fs.modified(inner)
        return time if isinstance(time, datetime) else None


def _web_time(text):
    """Parses a time in an HTTP header; returns None if it is missing or invalid."""
    with suppress(TypeError, ValueError):
        return parsedate_to_datetime(text)
