"""Stamps of files: as long as they are equal, the files have not been changed."""

import os
from datetime import UTC, datetime, timedelta
from itertools import chain

from sparkdl.data import files
from sparkdl.errors import DataError

MOST_FILES = 4096  # to ask for each of more would take as long as to read some
COARSE = timedelta(seconds=2)  # a file may change again within the tick of its system's clock


def stamp_files(paths):
    """Returns the stamps of files, and of all files in folders, in the order of their paths.

    None where these would not show each change: a system that tells no times, or whole seconds of a
    file that is younger than that; and where a path is not there, or there are too many.
    """
    try:
        found = files_of(paths)
        stamps = None if found is None else tuple(map(stamp_file, found))
        return None if stamps is None or None in stamps else stamps
    except (DataError, OSError):
        return None


def files_of(paths):
    """Returns the files, and all in folders, sorted; None once there are too many."""
    if len({*paths}) > MOST_FILES:  # which spares a question for each
        return None
    found = set()
    for file in chain.from_iterable(map(files_at, paths)):
        found.add(file)
        if len(found) > MOST_FILES:
            return None
    return sorted(found)


def files_at(path):
    """Returns the file, or yields all in a folder that any source reads."""
    return files.walk(path, files.is_dotted) if files.is_directory(path) else [path]


def stamp_file(path):
    """Returns what is another once a file has been changed; None where that is not sure."""
    if files.is_local(path):  # the time of the inode's change cannot be set back
        found = os.stat(files.local_path(path))
        return path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
    stamp = files.stamp(path)  # before it is asked whether a later change would show
    return None if may_hide_changes(path) else (path, *stamp)


def may_hide_changes(path):
    """Returns whether a file may be changed now and yet have the stamp that it has."""
    changed = files.modified(path)
    if changed is not None and (changed.microsecond or is_old(changed)):
        return False
    return not files.has_digest(path)  # asked last, as it is another request


def is_old(time):
    """Returns whether a change after this time has another, though both are of whole seconds."""
    return datetime.now(UTC) - time.astimezone(UTC) >= COARSE
