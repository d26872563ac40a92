"""Private folders and files, which only this user can change and which can therefore be trusted."""

import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from sparkdl.errors import ConfigError, UnsupportedError

BUDGETS = ("SPARKDL_KERNELS_BYTES", "SPARKDL_COPIES_BYTES")
WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
ROOT = 0  # may place links anywhere, for example to a larger disk


def is_own(status: os.stat_result) -> bool:
    """Returns whether this user owns the file, and nobody else can write to it."""
    return status.st_uid == os.getuid() and not status.st_mode & WRITE_BY_OTHERS


def open_own(path: Path) -> BinaryIO:
    """Opens a regular file that only this user can change; never follows links or blocks.

    Raises
    ------
    UnsupportedError
        If another user owns it or can write to it, or it is no regular file.
    OSError
        If it cannot be opened, or is a link.
    """
    file = open(path, "rb", opener=open_at_once)  # noqa: SIM115, the caller closes it
    status = os.fstat(file.fileno())  # of the open file, even if the path has been replaced
    if stat.S_ISREG(status.st_mode) and is_own(status):
        return file
    file.close()
    raise UnsupportedError(f"{path} must be a regular file that this user alone can change")


def open_at_once(path: str, flags: int) -> int:
    """Opens without following a link or blocking on a FIFO; an `opener` for `open`."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def open_private(path: str, flags: int) -> int:
    """Opens a file with mode 0600, whatever the umask; an `opener` for `open`."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


@contextmanager
def replaced_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yields a new file to write, which is renamed to `path` at the end, or deleted on error.

    Its temporary name is random, so no other user can place a link there.

    Parameters
    ----------
    path : Path
        Target; an existing file is replaced.
    mode : int
        Permissions of the file, subject to the umask.
    """
    unfinished = path.parent / f".sparkdl-{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(unfinished, flags, mode)
    try:
        with open(descriptor, "wb") as file:
            yield file
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def own_files(folder: Path, names: re.Pattern[str]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yields (path, status) of this user's regular files whose names match."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process may have deleted it
            status = os.lstat(path)
            if (
                names.fullmatch(path.name)
                and stat.S_ISREG(status.st_mode)
                and status.st_uid == os.getuid()
            ):
                yield path, status


def make_own_folder(path: Path) -> Path:
    """Creates a folder with mode 0700 if missing, and its missing parents; returns it.

    The path may be a link that belongs to this user or root.

    Raises
    ------
    UnsupportedError
        If another user owns the folder or the link, or can write to the folder.
    OSError
        If the folder cannot be created.
    """
    make_missing(path)
    status = os.lstat(path)
    is_link = stat.S_ISLNK(status.st_mode)
    if is_link and status.st_uid in (os.getuid(), ROOT):
        is_link, status = False, path.stat()
    if is_link or not is_own(status):
        mode = "a link" if is_link else f"mode {status.st_mode & 0o777:o}"
        raise UnsupportedError(
            f"{path} must be a folder that this user (uid {os.getuid()}) owns and no other can "
            f"write to, got uid {status.st_uid} and {mode}; "
            "chmod 700 it, or name another folder"
        )
    return path


def make_missing(path: Path) -> None:
    """Creates a folder and its missing parents, each with mode 0700."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_missing(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def try_lock(file: IO[Any]) -> bool:
    """Locks an open file until its process ends; returns False if another process has the lock."""
    import fcntl  # not available on Windows

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def cache_folder(name: str) -> Path:
    """Returns this user's cache folder for `name`; it may not exist yet.

    It is below XDG_CACHE_HOME (ignored if relative, as its specification says), else below .cache
    in the home folder, else a folder among temporary files: a container's user may have no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base, "sparkdl", name)
    try:
        return Path.home() / ".cache" / "sparkdl" / name
    except RuntimeError:  # neither HOME nor an entry in the user database
        return Path(tempfile.gettempdir(), f"sparkdl-{os.getuid()}-{name}")


def check_budgets() -> None:
    """Raises ConfigError if a variable of BUDGETS is no number of bytes."""
    for variable in BUDGETS:
        budget(variable, 0)


def budget(variable: str, default: int) -> int:
    """Returns the number of bytes that an environment variable allows, or the default."""
    text = os.environ.get(variable)
    if not text:
        return default
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(
            f"{variable} must be a number of bytes, got {text!r}; set it, or unset it"
        )
    return int(text)
