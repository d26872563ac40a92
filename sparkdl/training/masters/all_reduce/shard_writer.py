"""Rows of a worker's tables, written to files at each snapshot: those that have changed."""

import json

import numpy as np

from sparkdl.errors import DataError, WorkerError
from sparkdl.training.saving.table_file import write_table_file

FILES = "files"  # of what a worker sends of its rows: their names, as JSON
OVERHEAD = 1.0  # of the rows in a first file, as many again in those after it
MOST_FILES = 8


class ShardWriter:
    """Writes the rows that a worker owns, so that its files together have all of them.

    The first file has all rows, each later one those that have changed since. Where these are as
    many as the first one's, after eight files, or where rows were forgotten, it begins anew.

    Parameters
    ----------
    folder : TableFolder
    rank : int
    groups : list of TableShard
    """

    def __init__(self, folder, rank, groups):
        self.folder, self.rank = folder, rank
        self._stores = [store for group in groups for store in group.stores]
        self._files, self._numbers, self._count = [], [], 0  # rows of each file; files so far

    def write(self):
        """Writes what is new; returns {FILES: the names of all files}, for `read_files`."""
        places = self._changed()
        if places is None:
            self._files, self._numbers = [], []
            places = [np.arange(len(store)) for store in self._stores]
        count = sum(map(len, places))
        if count or not self._files:
            self._files.append(self._write(places))
            self._numbers.append(count)
        entries = [[file.path.rpartition("/")[2], file.bytes, file.sha256] for file in self._files]
        return {FILES: np.frombuffer(json.dumps(entries).encode(), np.uint8)}

    def _changed(self):
        """Returns [places of changed rows of each store]; None where all must be written."""
        if len(self._files) in (0, MOST_FILES):
            return None
        places = [store.changed() for store in self._stores]
        if any(own is None for own in places):
            return None
        later = sum(self._numbers[1:]) + sum(map(len, places))
        return None if later > OVERHEAD * self._numbers[0] else places

    def _write(self, places):
        self._count += 1
        path = f"{self.folder.path}/{self.rank:05d}-{self._count:06d}.safetensors"
        pairs = zip(self._stores, places, strict=True)
        arrays = [one for store, own in pairs for one in store.stream(own)]
        try:
            file = write_table_file(path, arrays)
        except DataError as error:  # others may succeed
            raise WorkerError(f"worker {self.rank}: {error}") from error
        except OSError as error:
            raise WorkerError(f"worker {self.rank}: {path} cannot be written: {error}") from error
        for store in self._stores:
            store.track_changes()
        return file


def read_files(folder, shard):
    """Returns the TableFiles that a worker has written to a folder, given what `write` gave."""
    from sparkdl.training.saving.table_folder import own_file  # a worker needs none of it

    entries = json.loads(shard[FILES].tobytes())
    return tuple(own_file(folder, *entry, check=len(entries) == 1) for entry in entries)
