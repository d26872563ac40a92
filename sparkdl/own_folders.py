"""Folders and files that this user alone can change, so that what lies there can be believed."""

import os
import stat
import tempfile
from pathlib import Path
from typing import IO, Any

from sparkdl.errors import ConfigError, UnsupportedError

BUDGETS = ("SPARKDL_KERNELS_BYTES", "SPARKDL_COPIES_BYTES")
WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def is_own(status: os.stat_result) -> bool:
    """Returns whether what has this status is this user's, and nobody else can write there."""
    return status.st_uid == os.getuid() and not status.st_mode & WRITE_BY_OTHERS


def is_own_file(path: Path) -> bool:
    """Returns whether there is a regular file, no link, that this user alone can change."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and is_own(status)


def make_own_folder(path: Path) -> Path:
    """Makes a folder of mode 0700 if there is none.

    Raises
    ------
    UnsupportedError
        Another user owns the folder, or can write there.
    OSError
        There can be no folder.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat()
    if not is_own(status):
        raise UnsupportedError(
            f"{path} must be a folder that this user (uid {os.getuid()}) owns and no other can "
            f"write to, got uid {status.st_uid} and mode {status.st_mode & 0o777:o}; "
            "chmod 700 it, or name another folder"
        )
    return path


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
