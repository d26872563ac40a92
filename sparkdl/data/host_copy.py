"""Copies of remote files, one per host, as memory maps need files on a local disk.

A copy is valid while the original's stamp is unchanged: its size, and what its file system reveals
about changes. If that is nothing, each use makes a new copy. Processes of a host take turns with a
lock, which the system releases when its holder dies. The folder of copies is kept within a budget;
the least recently used ones are deleted first.

SPARKDL_COPIES sets the folder, which must be private to this user (by default in the user's cache),
and SPARKDL_COPIES_BYTES the budget.
"""

import os
import platform
import re
import shutil
import time
from contextlib import contextmanager, suppress
from hashlib import blake2b, file_digest
from pathlib import Path

from sparkdl.data import files
from sparkdl.data.file_facts import describe
from sparkdl.data.file_stamps import COARSE, may_hide_changes
from sparkdl.errors import DataError, UnsupportedError
from sparkdl.own_folders import (
    budget,
    cache_folder,
    make_own_folder,
    open_own,
    open_private,
    own_files,
    try_lock,
)

BUDGET = 200 * 2**30  # bytes
CHUNK = 2**24
NAMES = re.compile(r"[0-9a-f]{16}-.*(?<!\.lock)", re.DOTALL)  # of copies, also unfinished ones
TRIES = 3  # copies of a file that changes meanwhile
STALL_TIMEOUT = 120.0  # seconds without progress of another process's copy
RECENT = 60.0  # seconds since its last use in which a copy is not deleted


def host_copy(path, sha256=None):
    """Returns the path of a local copy of a file on any file system.

    Makes the copy if there is none of the file's current version. If a change just now might not
    show in the file's stamp, it first waits two seconds, after which changes do show.

    Parameters
    ----------
    path : str
    sha256 : str, optional
        Expected digest of the contents.

    Raises
    ------
    DataError
        With the path and this host: the file cannot be read, has other contents or changes while it
        is copied; the disk is full; the budget is too small; or another process has held the lock
        for 120 seconds without progress.
    """
    for _ in range(TRIES - 1):
        with suppress(ChangedMeanwhile):
            return _copy_of(path, sha256)
    return _copy_of(path, sha256)


class ChangedMeanwhile(DataError):
    """A file was changed while it was copied."""


def _copy_of(path, sha256):
    """Makes or finds the copy, with a single try; see host_copy."""
    size, target, is_known = place_of(path, sha256)
    with _name_errors(path):
        make_own_folder(target.parent)  # first, as files elsewhere may belong to another user
        if not (is_known and is_whole(target, size)):
            with _hold_lock(path, target):
                if not (is_known and is_whole(target, size)):
                    _make_room(path, size, target.parent)
                    if is_known and sha256 is None and may_hide_changes(describe(path)):
                        time.sleep(COARSE.total_seconds())
                    _copy(path, size, target, sha256)
    with suppress(OSError):
        os.utime(target)  # marks it as used now
    return str(target)


def place_of(path, sha256=None):
    """Returns (size in bytes, path of the copy, whether that path identifies the contents).

    They refer to the current version of the file, or to the contents with digest `sha256`.
    """
    about = describe(path)
    name = os.fspath(path).rstrip("/").rpartition("/")[2]
    which = f"{path} {about.size} {about.stamp}" + (f" {sha256}" if sha256 else "")
    digest = blake2b(which.encode(), digest_size=8).hexdigest()
    return about.size, folder() / f"{digest}-{name}", bool(about.stamp or sha256)


def folder():
    """Returns the folder for copies.

    In a YARN container it is in the application's local folder, and deleted with the application.
    """
    chosen, of_yarn = os.environ.get("SPARKDL_COPIES"), os.environ.get("LOCAL_DIRS")
    if chosen:
        return Path(chosen)
    if of_yarn:
        return Path(of_yarn.split(",")[0]) / "sparkdl-copies"
    return cache_folder("copies")


def is_whole(target, size):
    try:
        with open_own(target) as file:
            return os.fstat(file.fileno()).st_size == size
    except (OSError, UnsupportedError):
        return False


def _copy(path, size, target, sha256):
    """Copies to a temporary name and renames, so that the file at `target` is complete."""
    part = partial(target)
    part.unlink(missing_ok=True)  # left by a process that has died
    try:
        with files.open(path) as source, open(part, "x+b", opener=open_private) as out:
            shutil.copyfileobj(source, out, CHUNK)
            copied = out.tell()
            if copied != size:
                raise DataError(
                    f"{path}: has {size} bytes, but {copied} were read; was it changed?"
                )
            if sha256 is not None:  # a verified copy must survive a crash
                out.flush()
                os.fsync(out.fileno())
                _verify(path, out, sha256)
            elif place_of(path)[:2] != (size, target):
                raise ChangedMeanwhile(f"{path}: must not change while it is copied; try again")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _verify(path, copy, sha256):
    copy.seek(0)
    found = file_digest(copy, "sha256").hexdigest()
    if found != sha256:
        raise DataError(f"{path}: damaged, sha256 is {found}, but {sha256} was written")


def _make_room(path, size, place):
    """Deletes the least recently used copies until the new one fits into the budget."""
    room = budget("SPARKDL_COPIES_BYTES", BUDGET)
    if size > room:
        text = f"its {size} bytes are above the budget of {room}; raise SPARKDL_COPIES_BYTES"
        raise DataError(f"{path}: {text}")
    held = sorted((about.st_mtime, about.st_size, one) for one, about in own_files(place, NAMES))
    total = sum(nbytes for _, nbytes, _ in held)
    for used, nbytes, one in held:
        if total + size > room and time.time() - used > RECENT:
            one.unlink(missing_ok=True)
            total -= nbytes


@contextmanager
def _hold_lock(path, target):
    """Excludes other processes of this host; waits while another one's copy makes progress."""
    name = f"{target.name}.lock"
    with open(target.with_name(name), "wb", opener=open_private) as lock:
        seen, since = -1, time.monotonic()
        while not try_lock(lock):
            progress = bytes_so_far(target)
            if progress != seen:
                seen, since = progress, time.monotonic()
            if time.monotonic() - since > STALL_TIMEOUT:
                text = (
                    f"another process is copying it and made no progress in {STALL_TIMEOUT:.0f} s"
                )
                raise DataError(f"{path}: {text}")
            time.sleep(0.05)
        yield


def bytes_so_far(target):
    """Returns the bytes that another process has copied, 0 before it begins and once it ends."""
    with suppress(FileNotFoundError):
        return partial(target).stat().st_size
    return 0


def partial(target):
    return target.with_name(f"{target.name}.part")


@contextmanager
def _name_errors(path):
    """Adds this host to errors of its disk."""
    try:
        yield
    except (OSError, UnsupportedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"{path}: cannot be copied to {folder()} on {platform.node()}: {reason}"
        ) from error
