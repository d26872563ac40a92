"""Large values shared by all processes of an executor through a memory-mapped file.

A model thus occupies memory once per executor, however many processes it has, and a table only
the pages that are read.
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
KEPT = 4  # files per executor; processes that map a deleted one keep it until they end
ALIGNMENT = 64  # bytes, of each part
PATIENCE = 120.0  # seconds to wait for another process to write the file


def map_value(disk, name, load):
    """Returns [read-only memoryview of each part] of a value that this executor has as a file.

    Parameters
    ----------
    disk : str
        Folder of the executor's files.
    name : str
        Of the value.
    load : callable
        Returns the bytes-like parts, if no process of the executor has written them yet.
    """
    folder = make_own_folder(Path(disk, FOLDER))
    path = folder / name
    with locked(folder / LOCK) as mine:
        if not mine:
            log.warning(
                "%s was not written in %.0f s: process %d keeps its own copy",
                path,
                PATIENCE,
                os.getpid(),
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
    """Holds a file lock, released when its process ends; gives False if it cannot be acquired."""
    with open(path, "w", opener=open_private) as file:
        end = time.monotonic() + PATIENCE
        while not (mine := try_lock(file)) and time.monotonic() < end:
            time.sleep(0.05)
        yield mine


def write_parts(path, parts):
    """Writes a file atomically: the number of parts, their sizes, and the parts."""
    views = [memoryview(part).cast("B") for part in parts]
    with replaced_file(path, 0o600) as file:
        file.write(np.array([len(views), *map(len, views)], np.int64).tobytes())
        for view in views:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(view)


def read_parts(path):
    """Returns read-only memoryviews of the parts written by `write_parts`."""
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
    """Deletes all files except the KEPT most recently used."""
    files = [path for path in folder.iterdir() if path.name != LOCK]
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)[:-KEPT]:
        path.unlink()
