"""Large values that all processes of an executor have in common: in a file that they map.

So a model lies once in the memory of an executor, however many processes it has, and of a table
only the pages that are read.
"""

import contextlib
import logging
import mmap
import os
import time
from pathlib import Path

import numpy as np

from sparkdl.own_folders import (
    make_own_folder,
    open_own,
    open_private,
    replaced_file,
    try_lock,
)

log = logging.getLogger(__name__)

FOLDER, LOCK = "sparkdl-shared", "lock"
KEPT = 4  # files of an executor; one that is deleted while processes map it stays until they end
ALIGNMENT = 64  # bytes, of each part
PATIENCE = 120.0  # seconds for another process to write the file


def map_value(disk, name, load):
    """Returns [read-only memoryview of each part] of a value that this executor has as a file.

    Parameters
    ----------
    disk : str
        Folder of the executor's files.
    name : str
        Of the value.
    load : callable
        Returns the parts, bytes-like, where no process of the executor has written them yet.
    """
    folder = make_own_folder(Path(disk, FOLDER))
    path = folder / name
    with locked(folder / LOCK) as mine:
        if not mine:
            log.warning(
                "%s was not written in %.0f s: %d keeps its own", path, PATIENCE, os.getpid()
            )
            return [memoryview(part).toreadonly() for part in load()]
        if path.exists():
            os.utime(path)
        else:
            write_parts(path, load())
            delete_oldest(folder)
        return read_parts(path)


@contextlib.contextmanager
def locked(path):
    """Holds the lock of a file, which ends with its process; gives False if others keep it."""
    with open(path, "w", opener=open_private) as file:
        end = time.monotonic() + PATIENCE
        while not (mine := try_lock(file)) and time.monotonic() < end:
            time.sleep(0.05)
        yield mine


def write_parts(path, parts):
    """Writes a file that appears at once: how many parts, their sizes, and the parts."""
    views = [memoryview(part).cast("B") for part in parts]
    with replaced_file(path, 0o600) as file:
        file.write(np.array([len(views), *map(len, views)], np.int64).tobytes())
        for view in views:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(view)


def read_parts(path):
    """Returns read-only memoryviews of what `write_parts` has written."""
    with open_own(path) as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    count = int(np.frombuffer(whole, np.int64, 1)[0])
    parts, at = [], 8 * (1 + count)
    for size in np.frombuffer(whole, np.int64, count, 8).tolist():
        at += -at % ALIGNMENT
        parts.append(whole[at : at + size])
        at += size
    return parts


def delete_oldest(folder):
    """Deletes all files but the last ones that were written or opened."""
    files = [path for path in folder.iterdir() if path.name != LOCK]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
        path.unlink()
