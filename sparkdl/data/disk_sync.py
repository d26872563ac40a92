"""What was written brought to the disk, where it outlasts a loss of power."""

import os
from contextlib import suppress


def sync_tree(path):
    """Waits until the disk has a file, or a folder and all that is in it. Raises OSError."""
    if not os.path.isdir(path):
        return sync(path)
    for folder, _, names in os.walk(path):
        for name in names:
            sync(os.path.join(folder, name))
        sync_folder(folder)


def sync_folder(path):
    """Waits until the disk has the names in a folder; some systems have no such thing."""
    with suppress(OSError):
        sync(path)


def sync(path):
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
