"""The folder of a driver's Unix sockets, which only its user can enter.

Over TCP, executors and their Python processes wait 40 ms for each other several times per task. On
a Unix socket PySpark requires no token and unpickles what it receives: whoever can open it runs
code as this user. So Unix sockets are used only if all processes of a session can share a private
folder, that is on one machine; otherwise Spark's TCP with its tokens stays.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

PREFIX = "sparkdl-sockets-"
LOCK = "lock"
LONGEST = 60  # bytes; with a name of 42 the path stays below 104, the limit on all systems

_held: dict[str, Any] = {}  # {folder: its lock, released when this process ends}


@cache
def own_socket_folder() -> Path | None:
    """Returns the folder shared by all sessions of this process, removed at its exit.

    A JVM reads it only once: if it went with one session, the next could collect nothing.
    """
    folder = new_socket_folder()
    atexit.register(remove_socket_folder, folder)
    return folder


def new_socket_folder() -> Path | None:
    """Returns a new folder of mode 0700; None if it cannot be created."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) + len(PREFIX) + 10 > LONGEST:
        base = "/tmp"
    remove_abandoned(Path(base))
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))  # 0700, whatever the umask
    except OSError:
        return None
    lock = (folder / "new").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (folder / "new").rename(folder / LOCK)  # visible only once it is held
    _held[str(folder)] = lock
    return folder


def socket_options(folder: Path | None) -> dict[str, str]:
    """Returns the options that make Spark put its sockets in a folder; {} without one."""
    if folder is None:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(folder),
    }


def remove_socket_folder(folder: Path | None) -> None:
    """Deletes a folder of this process."""
    lock = _held.pop(str(folder), None)
    if lock is not None:
        shutil.rmtree(str(folder), ignore_errors=True)
        lock.close()


def remove_abandoned(base: Path) -> None:
    """Deletes this user's folders of killed drivers: those whose locks nobody holds."""
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
                continue
            with (folder / LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
