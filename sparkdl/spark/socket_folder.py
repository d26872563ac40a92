"""The folder of a driver's sockets, which nobody but its user can enter.

Over TCP, executors and their Python processes wait 40 ms for each other several times a task.
PySpark asks nobody for a token at a Unix socket, and unpickles what comes: whoever can open it runs
code as this user. So there are such sockets only where all processes of a session can have one
folder that is theirs alone, which is on one machine; elsewhere Spark's TCP and its tokens stay.
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
LONGEST = 60  # bytes; with a name of 42 a path has to stay below 104, which all systems take

_held: dict[str, Any] = {}  # folder: its lock, which goes with this process


@cache
def own_socket_folder() -> Path | None:
    """Returns the folder of all sessions of this process, with which it goes.

    A JVM asks for it once: where a session ended with its folder, the next could collect nothing.
    """
    folder = new_socket_folder()
    atexit.register(remove_socket_folder, folder)
    return folder


def new_socket_folder() -> Path | None:
    """Returns a new folder of mode 0700; None where paths of temporary files are too long."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) + len(PREFIX) + 10 > LONGEST:
        base = "/tmp"
    remove_abandoned(Path(base))
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))  # 0700, whatever the umask says
    except OSError:
        return None
    lock = (folder / "new").open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (folder / "new").rename(folder / LOCK)  # nobody sees it before it is held
    _held[str(folder)] = lock
    return folder


def socket_options(folder: Path | None) -> dict[str, str]:
    """Returns the options by which Spark has its sockets in a folder; none without one."""
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
    """Deletes this user's folders of drivers that were killed: nobody holds their locks."""
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
                continue
            with (folder / LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
