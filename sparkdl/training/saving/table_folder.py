"""Folders of table files owned by this process, removed once no object refers to them."""

import os
import threading
import uuid
import weakref
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError
from sparkdl.training.saving.table_file import KNOWN, TableFile

MADE = "_made"  # the first file of each folder
SWEEP, PATIENCE = "sparkdl-sweep", 1.0
OWN: dict[str, int] = {}  # {path of a folder: pid of its creator}, until it is removed
GONE: deque[tuple[int, str]] = deque()  # (pid, path) of paths that the process is to remove


@dataclass(frozen=True, eq=False)
class TableFolder:
    """A folder that the workers of one launch write to. A deep copy of it is itself."""

    path: str

    def __deepcopy__(self, memo: object) -> "TableFolder":
        return self


def make_folder(parent: str) -> TableFolder:
    """Returns a new TableFolder in another, removed once no object of this process refers to it.

    Raises DataError if it cannot be created.
    """
    sweep()
    sweep_at_end()
    path = f"{files.absolute(parent).rstrip('/')}/{uuid.uuid4().hex}"
    files.write(f"{path}/{MADE}", b"")  # fails at once if the folder is not writable
    OWN[path] = os.getpid()
    folder = TableFolder(path)
    note_end(folder, path)
    return folder


def own_file(
    folder: TableFolder, name: str, count: int, sha256: str, check: bool = False
) -> TableFile:
    """Returns the TableFile of a worker's file in a folder; see `make_folder`.

    With `check`, raises ConfigError if this process cannot find a file that is new to it.
    """
    path = f"{folder.path}/{name}"
    known = KNOWN.get((path, sha256))
    if known is not None and known.folder is folder:
        return known
    file = TableFile(path, count, sha256, folder)
    if check:
        check_reached(file)
    note_end(file, path)
    return file


def check_reached(file: TableFile) -> None:
    """Raises ConfigError if this process cannot find the file that a worker has written."""
    try:
        found = files.size(file.path)
    except DataError as error:
        if not isinstance(error.__context__, FileNotFoundError):
            return  # other errors say nothing about the folder
        found = 0
    if found != file.bytes:
        raise ConfigError(
            "AllReduceSGD.table_folder must be a folder that the driver and all workers reach, "
            f"got {os.path.dirname(file.folder.path)}: of {file.path}, which a worker wrote with "
            f"{file.bytes} bytes, the driver finds {found}; name one on HDFS, or on a shared disk"
        )


def note_end(one, path):
    """Makes `sweep` remove a path once no object refers to it."""
    weakref.finalize(one, GONE.append, (os.getpid(), path)).atexit = False


def sweep() -> None:
    """Removes the paths that no object of this process refers to any more."""
    while GONE:
        process, path = GONE.popleft()
        if process == os.getpid():
            remove(path)


@cache
def sweep_at_end() -> None:
    """Schedules the removal of this process's files at its end, when threads can still start."""
    getattr(threading, "_register_atexit")(end)  # noqa: B009


def end() -> None:
    """Removes everything, once no other thread is left that may use it."""
    if other_threads():
        threading.Thread(target=wait_and_sweep, name=SWEEP, daemon=False).start()
    else:
        sweep_all()


def wait_and_sweep() -> None:
    """Waits for all other threads that keep the process alive, and removes everything."""
    while others := other_threads():
        with suppress(RuntimeError):  # a thread that has not started yet
            others[0].join(PATIENCE)
    sweep_all()


def other_threads() -> list[threading.Thread]:
    """Returns the threads, besides the main one, that this process waits for at its end."""
    main = threading.main_thread()
    return [t for t in threading.enumerate() if not t.daemon and t is not main and t.name != SWEEP]


def sweep_all() -> None:
    """Removes everything that belongs to this process."""
    for path, process in list(OWN.items()):
        if process == os.getpid():
            remove(path)


def remove(path: str) -> None:
    """Removes a file or folder, unless its file system is no longer reachable."""
    OWN.pop(path, None)
    with suppress(DataError, OSError, RuntimeError):
        files.remove(path)
