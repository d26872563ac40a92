"""What file systems tell of files: sizes, and by what a change is noticed."""

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from sparkdl.data.file_systems import name_errors, resolve

DIGESTS = ("ETag", "etag", "Content-MD5", "Digest", "md5Hash", "sha", "CRC")
TOLD = (  # of a file's changes, as its system calls it: times first
    *("modificationTime", "mtime", "modified", "LastModified", "Last-Modified", "last_modified"),
    *("modify", "updated", "created", "date_time"),
    *DIGESTS,
)
TIMES = ("mtime", "modified", "LastModified", "last_modified")


class About(NamedTuple):
    """What a file system tells of a file or folder when it is asked once.

    Attributes
    ----------
    kind : str
        "file", "directory" or another.
    size : int
        Bytes.
    stamp : str
        Another when the file is changed; empty where its system tells nothing of that.
    modified : datetime or None
        When it was changed; None where its system does not tell.
    has_digest : bool
        Whether its system tells what is another with each content.
    asked : datetime
        When it was asked: no change after that is in the answer.
    """

    kind: str
    size: int
    stamp: str
    modified: datetime | None
    has_digest: bool
    asked: datetime


def describe(path):
    """Returns what there is to know About a file or folder. Most systems are asked once."""
    asked = datetime.now(UTC)
    with name_errors(path, "looked up"):
        fs, inner = resolve(path)
        told = fs.info(inner)
        time = None if told["type"] == "directory" else _modified(fs, inner, told)
    known = {name: told.get(name) for name in TOLD} | {"time": time}
    texts = [(name, str(what).strip('"')) for name, what in known.items() if what is not None]
    has_digest = any(told.get(name) for name in DIGESTS)
    modified = _web_time(told.get("Last-Modified")) if time is None else time
    stamp = str(texts) if texts else ""
    return About(told["type"], told["size"], stamp, modified, has_digest, asked)


def _modified(fs, inner, told):
    """Returns the datetime that a file system has for a file, or None; asks where it told none."""
    times = (told[name] for name in TIMES if isinstance(told.get(name), datetime))
    with suppress(NotImplementedError, KeyError):
        time = next(times, None) or fs.modified(inner)
        return time if isinstance(time, datetime) else None


def _web_time(text):
    """Returns the datetime of a header, None where it has none."""
    with suppress(TypeError, ValueError):
        return parsedate_to_datetime(text)
