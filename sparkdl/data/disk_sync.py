"""Flushes files to disk, so that they survive a loss of power."""

import os
from contextlib import suppress


def sync_tree(path):
    """Flushes a file, or a folder with all its contents, to disk. Raises OSError."""
    if not os.path.isdir(path):
        return sync(path)
    for folder, _, names in os.walk(path):
        for name in names:
            sync(os.path.join(folder, name))
        sync_folder(folder)


def sync_folder(path):
    """Flushes the names in a folder to disk, on systems that support it."""
    with suppress(OSError):
        sync(path)


def sync(path):
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
