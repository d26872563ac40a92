"""File cache of a worker's records, which may thus exceed its memory."""

import mmap
from dataclasses import dataclass, field

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.scratch_file import ScratchFile
from sparkdl.errors import WorkerError

IDS = "ids"  # stands beside the columns in the files


class RecordCache:
    """Blocks of records, written once and then read in any order, any number of times.

    The files have no names, so they disappear with the process, however it ends.
    """

    def __init__(self, blocks=()):
        self._files, self._pieces = {}, {}
        for number, piece in blocks:
            self.put(number, piece)

    def put(self, number, piece):
        """Adds a Batch to a block; its pieces may come in any order."""
        columns = {f".{name}": column for name, column in piece.columns.items()}
        places = {name: self._append(name, x) for name, x in (columns | {IDS: piece.ids}).items()}
        self._pieces.setdefault(number, []).append(places)

    def __iter__(self):
        """Returns the numbers of the blocks, in order of first arrival."""
        return iter(self._pieces)

    def block(self, number):
        """Returns the CachedBlock of this number; WorkerError if it has no records."""
        if number not in self._pieces:
            raise WorkerError(f"block {number} should be here, got only {sorted(self._pieces)}")
        return CachedBlock(self._pieces[number])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Closes the files."""
        for column in self._files.values():
            column.close()
        self._files.clear()
        self._pieces.clear()

    def _append(self, name, array):
        key = name, array.dtype.str, array.shape[1:]
        file = self._files.setdefault(key, None)
        if file is None:
            file = self._files[key] = Column(array.dtype, array.shape[1:])
        return file.append(array)


@dataclass(eq=False)
class Column:
    """Rows of one shape and type, appended to an unnamed file."""

    dtype: np.dtype
    shape: tuple[int, ...]
    count: int = 0
    rows: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self):
        self._scratch = ScratchFile("sparkdl-")

    def append(self, array):
        """Writes rows; returns their position as (self, start, stop)."""
        start, self.count, self.rows = self.count, self.count + len(array), None
        self._scratch.append(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        return self, start, self.count

    def close(self):
        self._scratch.close()

    def all(self):
        """Returns all rows (count, ...), memory-mapped."""
        if self.rows is None:
            shape = (self.count, *self.shape)
            self.rows = np.empty(shape, self.dtype) if 0 in shape else self._map(shape)
        return self.rows

    def _map(self, shape):
        data = mmap.mmap(self._scratch.file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(data, self.dtype).reshape(shape)


class CachedBlock:
    """A block in the cache; its records are sorted by id, in whatever order they arrived.

    Parameters
    ----------
    pieces : list of {column: (Column, start, stop)}
    """

    def __init__(self, pieces):
        columns = {name: locate([piece[name] for piece in pieces]) for name in pieces[0]}
        ids, rows = columns[IDS]
        order = np.argsort(ids[rows], kind="stable")
        self._columns = {name: (array, rows[order]) for name, (array, rows) in columns.items()}
        self._count = len(order)

    def __len__(self):
        return self._count

    def take(self, index):
        """Returns a Batch of copies of the records at the positions `index`."""
        columns = {name: array[rows[index]] for name, (array, rows) in self._columns.items()}
        ids = columns.pop(IDS)
        return Batch(columns={name[1:]: x for name, x in columns.items()}, ids=ids)


def locate(places):
    """Returns (array, rows): an array, and the indices of the rows of all (Column, start, stop) in
    it.
    """
    column = places[0][0]
    if all(other is column for other, *_ in places):
        return column.all(), np.concatenate([np.arange(*bounds) for _, *bounds in places])
    array = np.concatenate([other.all()[start:stop] for other, start, stop in places])
    return array, np.arange(len(array))  # pieces of several types
