"""Stamps of files: as long as they are equal, the files have not been changed."""

import os
from datetime import timedelta
from itertools import chain

from sparkdl.data import files
from sparkdl.data.file_facts import describe
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
        stamps = None if found is None else tuple(stamp_file(one, found[one]) for one in found)
        return None if stamps is None or None in stamps else stamps
    except (DataError, OSError):
        return None


def files_of(paths):
    """Returns {file, also in folders: as `files_at`}, sorted; None once there are too many."""
    if len({*paths}) > MOST_FILES:  # which spares a question for each
        return None
    found = {}
    for file, about in chain.from_iterable(map(files_at, paths)):
        found[file] = about
        if len(found) > MOST_FILES:
            return None
    return dict(sorted(found.items()))


def files_at(path):
    """Yields (file, what is known About it or None): of the path, or all in it that is read."""
    about = None if files.is_local(path) else describe(path)
    is_folder = files.is_directory(path) if about is None else about.kind == "directory"
    if is_folder:
        yield from ((file, None) for file in files.walk(path, files.is_dotted))
    else:
        yield path, about


def stamp_file(path, about=None):
    """Returns what is another once a file has been changed; None where that is not sure."""
    if files.is_local(path):  # the time of the inode's change cannot be set back
        found = os.stat(files.local_path(path))
        return path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
    about = about or describe(path)
    return None if may_hide_changes(about) else (path, about.size, about.stamp)


def may_hide_changes(about):
    """Returns whether a file may have been changed since, and yet have the stamp that it had."""
    changed = about.modified
    if changed is not None and (changed.microsecond or is_old(changed, about.asked)):
        return False
    return not about.has_digest


def is_old(time, asked):
    """Returns whether a later change has another time, though both are of whole seconds."""
    return asked - time.astimezone(asked.tzinfo) >= COARSE
