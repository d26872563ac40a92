"""Imports from archives on Python's path, which are read again only if they have changed.

PySpark before 4.2 calls importlib.invalidate_caches before each task, later (SPARK-54744) only
before the first one of a process. Python 3.11 and 3.12 then read the directories of Spark's zips
and of its largest jar about 20 times, which takes a task 0.1 to 0.2 s; from 3.13 on Python reads
them once, at the next import.
"""

import os
import sys
from contextlib import suppress
from zipimport import zipimporter

from sparkdl.spark.jobs.release import PYSPARK

IS_CALLED_BEFORE_EACH_TASK = PYSPARK < (4, 2)
READ = {}  # {archive: what its file was when its directory was last read}


class KeptArchive(zipimporter):
    """Imports from an archive; `invalidate_caches` does nothing while the file is the same."""

    def __init__(self, path):
        super().__init__(path)  # an earlier importer may have read the directory
        self._identity = READ.setdefault(self.archive, identity_of(self.archive))

    def invalidate_caches(self):
        now = identity_of(self.archive)
        if self._identity != now:
            super().invalidate_caches()
            READ[self.archive] = self._identity = now


def identity_of(path):
    """Returns what changes with a file's content, or None if there is no file."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return None


def keep_archives_in_task():
    """Makes a task's process keep archives, where PySpark has just read them and would again."""
    if IS_CALLED_BEFORE_EACH_TASK:
        keep_archives()


def keep_archives():
    """Makes this process import from archives by KeptArchive.

    Their directories must be read anew before if they may have changed since they were read.
    """
    if zipimporter not in sys.path_hooks:
        return
    sys.path_hooks[sys.path_hooks.index(zipimporter)] = KeptArchive
    for path, importer in [*sys.path_importer_cache.items()]:
        if type(importer) is zipimporter:
            with suppress(ImportError):  # it is gone; the next import says so
                sys.path_importer_cache[path] = KeptArchive(path)
