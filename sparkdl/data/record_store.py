"""Store of records in a folder, written once and then memory-mapped.

One file holds the arrays of all batches, one after the other; an index has their places.
"""

import json
import mmap
import os
import platform
import shutil
from pathlib import Path

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.record_order import sort_records
from sparkdl.errors import DataError, LostRecords, UnsupportedError
from sparkdl.own_folders import make_own_folder, open_own, open_private

RECORDS, INDEX = "records", "index.json"
ALIGNMENT = 64  # bytes, the size of a cache line


def write_records(folder, batches):
    """Writes Batches to a new folder, which appears once it is complete.

    Returns (number of records, bytes of their arrays). Only one batch is in memory at a time. The
    parent folder is created if needed, and must be private to this user.

    Raises
    ------
    UnsupportedError
        If another user owns the parent folder or can write to it.
    DataError
        If the disk is full; names the folder and the bytes.
    """
    folder = Path(folder)
    beside = folder.with_name(f"{folder.name}.part")
    try:
        writer = RecordWriter(beside)
        try:
            for batch in batches:
                writer.append(batch)
        finally:
            writer.close()
        writer.finish(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return writer.count, writer.nbytes


def write_sorted_records(folder, batches):
    """Writes Batches as `write_records` does, but in an order that does not depend on theirs.

    Until the end they take twice the room on the disk.
    """
    beside = Path(f"{folder}.arrived")
    arrived = beside / "records"
    try:
        write_records(arrived, batches)
        return write_records(folder, sort_records(list(read_records(arrived))))
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read_records(folder):
    """Yields the Batches of a folder in the order in which they were written.

    Their arrays are read-only views of the mapped file.

    Raises
    ------
    LostRecords
        If there is no such folder on this machine.
    DataError
        If the folder's contents are not those written, or another user could have changed them.
    """
    if not os.path.isdir(folder):
        raise LostRecords(f"{folder}: must hold records, {platform.node()} has no such folder")
    index = read_index(folder)
    data = map_file(Path(folder, RECORDS), index["bytes"])
    for batch in index["batches"]:
        columns = {name: view(data, *place) for name, place in batch["columns"].items()}
        yield Batch(columns=columns, ids=view(data, *batch["ids"]))


def is_complete(folder):
    """Returns whether a folder has complete record files."""
    try:
        map_file(Path(folder, RECORDS), read_index(folder)["bytes"])
    except DataError:
        return False
    return True


class RecordWriter:
    """Appends the arrays of Batches to the file of a folder.

    Attributes
    ----------
    count, nbytes : int
        Number of records, and bytes of their arrays.
    """

    def __init__(self, folder):
        self._folder, self._end, self._batches = folder, 0, []
        self.count = self.nbytes = 0
        try:
            make_own_folder(folder.parent)
            folder.mkdir(mode=0o700)
            # Unbuffered, so that an error occurs with the write that causes it.
            self._file = open(  # noqa: SIM115, lives as we do
                folder / RECORDS, "xb", buffering=0, opener=open_private
            )
        except OSError as error:
            self._refuse(error)

    def append(self, batch):
        columns = {name: self._write(column) for name, column in batch.columns.items()}
        self._batches.append({"ids": self._write(batch.ids), "columns": columns})
        self.count, self.nbytes = self.count + len(batch), self.nbytes + batch.nbytes

    def close(self):
        self._file.close()

    def finish(self, folder):
        """Writes the index, and renames the folder to its final name."""
        index = {"bytes": self._end, "batches": self._batches}
        try:
            with open(self._folder / INDEX, "x", opener=open_private) as file:
                file.write(json.dumps(index))
            os.rename(self._folder, folder)
        except OSError as error:
            self._refuse(error)

    def _write(self, array):
        """Writes an array; returns its dtype, shape and offset."""
        start = -(-self._end // ALIGNMENT) * ALIGNMENT
        data = np.ascontiguousarray(array).data.cast("B") if array.size else b""
        try:
            self._file.seek(start)
            while len(data):
                data = data[self._file.write(data) :]
        except OSError as error:
            self._refuse(error, array.nbytes)
        self._end = start + array.nbytes if array.size else self._end
        return array.dtype.str, array.shape, start

    def _refuse(self, error, more=0):
        raise DataError(
            f"{self._folder.parent}: must have room for {self._end + more} bytes of records, got: "
            f"{error.strerror}; make room there, or let Spark use another folder"
        ) from error


def read_index(folder):
    try:
        with open_own(Path(folder, INDEX)) as file:
            return json.loads(file.read())
    except (OSError, UnsupportedError, ValueError) as error:
        raise DataError(f"{folder}: must have an index of records, got: {error}") from error


def map_file(path, nbytes):
    """Maps a file of `nbytes` bytes into memory."""
    try:
        with open_own(path) as file:
            found = os.fstat(file.fileno()).st_size
            if found != nbytes:
                raise DataError(f"{path}: must have {nbytes} bytes, got {found}")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if nbytes else b""
    except (OSError, UnsupportedError) as error:
        raise DataError(f"{path}: must be a file of records, got: {error}") from error


def view(data, kind, shape, start):
    """Returns the array with this dtype and shape at offset `start`."""
    dtype, size = np.dtype(kind), int(np.prod(shape, dtype=np.int64))
    if not size:
        return np.empty(shape, dtype)
    return np.frombuffer(data, dtype, size, start).reshape(shape)
