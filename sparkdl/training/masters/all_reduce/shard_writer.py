"""Incremental files of a worker's table rows, written at each snapshot."""

import json

import numpy as np

from sparkdl.errors import DataError, WorkerError
from sparkdl.training.saving.table_file import write_table_file

FILES = "files"  # key under which a worker sends the names of its files, as JSON
OVERHEAD = 1.0  # most rows in later files, as a share of those in the first
MOST_FILES = 8


class ShardWriter:
    """Writes the rows that a worker owns, so that its files together hold all of them.

    The first file has all rows, each later one those changed since. The writer starts over once the
    later files would have more rows than the first, after eight files, or when rows were forgotten.

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
        """Writes changed rows; returns {FILES: the names of all files}, for `read_files`."""
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
        """Returns [positions of each store's changed rows]; None if all must be written."""
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
        except DataError as error:  # other workers may succeed
            raise WorkerError(f"worker {self.rank}: {error}") from error
        except OSError as error:
            raise WorkerError(f"worker {self.rank}: {path} cannot be written: {error}") from error
        for store in self._stores:
            store.track_changes()
        return file


def read_files(folder, shard):
    """Returns the TableFiles that a worker has written to a folder, given the result of `write`."""
    from sparkdl.training.saving.table_folder import own_file  # workers don't need this import

    entries = json.loads(shard[FILES].tobytes())
    return tuple(own_file(folder, *entry, check=len(entries) == 1) for entry in entries)
