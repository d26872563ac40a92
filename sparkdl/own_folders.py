"""Folders and files that this user alone can change, so that what lies there can be believed."""

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
ROOT = 0  # may put links anywhere, as for a larger disk


def is_own(status: os.stat_result) -> bool:
    """Returns whether what has this status is this user's, and nobody else can write there."""
    return status.st_uid == os.getuid() and not status.st_mode & WRITE_BY_OTHERS


def open_own(path: Path) -> BinaryIO:
    """Opens a regular file that this user alone can change; follows no link, and never waits.

    Raises
    ------
    UnsupportedError
        Another user owns it, or can write there, or it is no regular file.
    OSError
        It cannot be opened, or is a link.
    """
    file = open(path, "rb", opener=open_at_once)  # noqa: SIM115, the caller closes it
    status = os.fstat(file.fileno())  # of what is open, whatever has the path now
    if stat.S_ISREG(status.st_mode) and is_own(status):
        return file
    file.close()
    raise UnsupportedError(f"{path} must be a regular file that this user alone can change")


def open_at_once(path: str, flags: int) -> int:
    """Opens what is no link, as `opener` of `open`; a FIFO does not wait for its writer."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def open_private(path: str, flags: int) -> int:
    """Opens a file of the user's own, as `opener` of `open`, whatever the umask says."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


@contextmanager
def replaced_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Gives a new file to write, which gets the name `path` at the end, or is deleted.

    Until then nobody can guess its name, so no link of another user can be there.

    Parameters
    ----------
    path : Path
        Of what may be there already, and is replaced.
    mode : int
        Of the file, less what the umask says.
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
    """Yields (path, status) of this user's regular files that have such names."""
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
    """Makes a folder of mode 0700 if there is none; those above it that are missing, too.

    It may be a link that this user or root has made.

    Raises
    ------
    UnsupportedError
        Another user owns the folder or the link, or can write to the folder.
    OSError
        There can be no folder.
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
    """Makes a folder and those above it, each of mode 0700 where there is none."""
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_missing(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def try_lock(file: IO[Any]) -> bool:
    """Takes the lock of an open file, which ends with its process; False if another has it."""
    import fcntl  # which Windows has not

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def cache_folder(name: str) -> Path:
    """Returns where this user keeps what can be made again; it need not exist.

    XDG_CACHE_HOME, of which the specification ignores a relative one, else .cache at home, else a
    folder of the user's among temporary files: a container's user may have no home.
    """
    base = os.environ.get("XDG_CACHE_HOME")
    if base and os.path.isabs(base):
        return Path(base, "sparkdl", name)
    try:
        return Path.home() / ".cache" / "sparkdl" / name
    except RuntimeError:  # no HOME, and no entry among the system's users
        return Path(tempfile.gettempdir(), f"sparkdl-{os.getuid()}-{name}")


def check_budgets() -> None:
    """Raises ConfigError where a variable of BUDGETS is no number of bytes in this process."""
    for variable in BUDGETS:
        budget(variable, 0)


def budget(variable: str, default: int) -> int:
    """Returns the bytes that an environment variable allows."""
    text = os.environ.get(variable)
    if not text:
        return default
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(
            f"{variable} must be a number of bytes, got {text!r}; set it, or unset it"
        )
    return int(text)
