"""Stamps of files, which are equal as long as the files have not changed."""

import errno
import os
import time
from datetime import timedelta
from itertools import chain
from pathlib import Path

from sparkdl.data import files, hadoop
from sparkdl.data.file_facts import describe
from sparkdl.data.file_systems import scheme_of
from sparkdl.data.ordered_calls import each_in_order
from sparkdl.errors import DataError

IN_MEMORY = ("tmpfs", "ramfs", "hugetlbfs")
SECOND = 10**9  # nanoseconds
MOST_FILES = 4096  # beyond this, asking for each file takes as long as reading some
COARSE = timedelta(seconds=2)  # a file may change twice within one tick of its file system's clock


def stamp_files(paths, may_be_mapped=False):
    """Returns the stamps of files, and of all files in folders, in the order of their paths.

    Returns None if the stamps might miss a change: the file system provides no times, or only whole
    seconds for a file that is too new. Also if a path is missing, or there are too many files.

    With `may_be_mapped`, local files are written to disk first. Programs may have mapped them into
    memory: a change of a page that was not yet written sets no time.
    """
    try:
        found = files_of(paths)
        if found is None:
            return None
        if may_be_mapped and not write_out(filter(files.is_local, found)):
            return None
        stamps = tuple(stamp_file(one, found[one]) for one in found)
        return None if None in stamps else stamps
    except (DataError, OSError):
        return None


def files_of(paths):
    """Returns {file: facts as from `files_at`}, sorted, including files in folders.

    Returns None if there are more than MOST_FILES.
    """
    paths, found = list(dict.fromkeys(paths)), {}
    if len(paths) > MOST_FILES:  # spares the requests for each of them
        return None
    with each_in_order(facts_of, paths) as facts:
        for file, about in chain.from_iterable(map(files_at, paths, facts)):
            found[file] = about
            if len(found) > MOST_FILES:
                return None
    return dict(sorted(found.items()))


def facts_of(path):
    return None if files.is_local(path) else describe(path)


def files_at(path, about):
    """Yields (file, facts About it or None) for the path, or for all data files in a folder.

    `about` are the facts about the path itself, None for a local one.
    """
    is_folder = files.is_directory(path) if about is None else about.kind == "directory"
    if is_folder:
        for file, entry in files.walk_entries(path, files.is_dotted):
            yield file, describe(file, entry) if tells_changes(file) else None
    else:
        yield path, about


def tells_changes(path):
    """Returns whether a listing tells of a file what its file system tells of it alone."""
    return files.is_object_store(path) or scheme_of(path) in hadoop.SCHEMES


def write_out(paths):
    """Makes the system write local files to disk, so that later changes of their pages set a time.

    Returns whether it does: a file system in memory has no disk, and sets none.
    """
    in_memory = memory_devices()
    for path in paths:
        with open(files.local_path(path), "rb") as file:
            if os.fstat(file.fileno()).st_dev in in_memory:
                return False
            try:
                os.fsync(file.fileno())
            except OSError as error:
                if error.errno != errno.EINVAL:  # of file systems that write nothing
                    raise
    return True


def memory_devices():
    """Returns the device numbers of the mounted file systems in memory, as Linux lists them."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:  # another system
        return set()
    found = [each[2].split(":") for each in mounts if each[each.index("-") + 1] in IN_MEMORY]
    return {os.makedev(int(major), int(minor)) for major, minor in found}


def stamp_file(path, about=None):
    """Returns a value that changes when the file does, or None if that is not certain."""
    if files.is_local(path):  # the inode's change time cannot be set back
        found = os.stat(files.local_path(path))
        changed = max(found.st_mtime_ns, found.st_ctime_ns)
        if changed % SECOND == 0 and time.time_ns() - changed < COARSE.total_seconds() * SECOND:
            return None  # its file system may have whole seconds only
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
