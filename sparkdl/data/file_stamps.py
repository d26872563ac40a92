"""Stamps of files, which are equal as long as the files have not changed."""

import os
from datetime import timedelta
from itertools import chain

from sparkdl.data import files
from sparkdl.data.file_facts import describe
from sparkdl.errors import DataError

MOST_FILES = 4096  # beyond this, asking for each file takes as long as reading some
COARSE = timedelta(seconds=2)  # a file may change twice within one tick of its file system's clock


def stamp_files(paths):
    """Returns the stamps of files, and of all files in folders, in the order of their paths.

    Returns None if the stamps might miss a change: the file system provides no times, or only whole
    seconds for a file that is too new. Also if a path is missing, or there are too many files.
    """
    try:
        found = files_of(paths)
        stamps = None if found is None else tuple(stamp_file(one, found[one]) for one in found)
        return None if stamps is None or None in stamps else stamps
    except (DataError, OSError):
        return None


def files_of(paths):
    """Returns {file: facts as from `files_at`}, sorted, including files in folders.

    Returns None if there are more than MOST_FILES.
    """
    if len({*paths}) > MOST_FILES:  # spares the requests for each of them
        return None
    found = {}
    for file, about in chain.from_iterable(map(files_at, paths)):
        found[file] = about
        if len(found) > MOST_FILES:
            return None
    return dict(sorted(found.items()))


def files_at(path):
    """Yields (file, facts About it or None) for the path, or for all data files in a folder."""
    about = None if files.is_local(path) else describe(path)
    is_folder = files.is_directory(path) if about is None else about.kind == "directory"
    if is_folder:
        for file, entry in files.walk_entries(path, files.is_dotted):
            yield file, describe(file, entry) if files.is_object_store(file) else None
    else:
        yield path, about


def stamp_file(path, about=None):
    """Returns a value that changes when the file does, or None if that is not certain."""
    if files.is_local(path):  # the inode's change time cannot be set back
        found = os.stat(files.local_path(path))
        return path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
    about = about or describe(path)
    return None if may_hide_changes(about) else (path, about.size, about.stamp)


def may_hide_changes(about):
    """Returns whether a file may have changed since then and still have the same stamp."""
    changed = about.modified
    if changed is not None and (changed.microsecond or is_old(changed, about.asked)):
        return False
    return not about.has_digest


def is_old(time, asked):
    """Returns whether a later change must have another time, even in whole seconds."""
    return asked - time.astimezone(asked.tzinfo) >= COARSE
