"""Writers of Batches in formats of the Hadoop world."""

import shutil
import tempfile
from collections.abc import Iterable
from os import PathLike

import numpy as np
import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, require_plain
from sparkdl.data.readers.lmdb_files.writer import datums, write_lmdb
from sparkdl.data.readers.sequence_file.writer import write_sequence_file
from sparkdl.errors import DataError


def write_parquet(path: str | PathLike[str], batches: Iterable[Batch]) -> int:
    """Writes a folder with one Parquet file: features as bytes (uint8) or lists, and labels.

    The first batch determines the types, except that float16 becomes float32, as Spark cannot read
    it. Returns the number of records. Raises DataError if the path exists, there are no records,
    some do not fit these types, or have other columns.
    """
    with new_folder(path) as folder, files.open(f"{folder}/part-00000.parquet", "wb") as file:
        count, writer = 0, None
        try:
            for batch in batches:
                table = table_of(batch)
                writer = writer or ParquetWriter(file, table.schema)
                writer.write_table(cast_table(table, writer.schema, f"{path}, record {count}"))
                count += len(batch)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise DataError(f"{path}: Parquet must hold records, got none")
    return count


def write_sequence_datums(
    path: str | PathLike[str], batches: Iterable[Batch], compression: str = "none"
) -> int:
    """Writes a folder with one SequenceFile of Datums, with keys 00000000, 00000001 and so on.

    Returns the number of records. Raises DataError if the path exists, there are no records, or
    they have other columns than features and labels.
    """
    with new_folder(path) as folder:
        pairs = ((key.decode(), value) for key, value in datums(batches))
        count = write_sequence_file(f"{folder}/part-00000", pairs, compression=compression)
        if count == 0:
            raise DataError(f"{path}: a SequenceFile must hold records, got none")
    return count


def write_lmdb_anywhere(path: str | PathLike[str], batches: Iterable[Batch]) -> int:
    """As write_lmdb, but on any file system: the database is written here, then copied."""
    if files.is_local(path):
        return write_lmdb(path, batches)
    with new_folder(path) as target, tempfile.TemporaryDirectory() as folder:
        count = write_lmdb(f"{folder}/db", batches)
        with open(f"{folder}/db/data.mdb", "rb") as source:
            with files.open(f"{target}/data.mdb", "wb") as out:
                shutil.copyfileobj(source, out)
    return count


def new_folder(path):
    """Returns `files.atomic_directory` of a path that must not exist."""
    files.check_free(path)
    return files.atomic_directory(path)


def table_of(batch):
    require_plain(batch)
    rows = batch.features.reshape(len(batch), -1)
    if rows.dtype == np.uint8:
        features = pa.array([row.tobytes() for row in rows], pa.binary())
    else:
        kind = np.float32 if rows.dtype == np.float16 else rows.dtype.newbyteorder("=")
        numbers = pa.array(rows.astype(kind, copy=False).ravel())
        features = pa.FixedSizeListArray.from_arrays(numbers, rows.shape[1])
    columns = {"features": features}
    if batch.labels is not None:
        columns["label"] = nested_lists(batch.labels)
    return pa.table(columns)


def nested_lists(y):
    """Converts an array (n, ...) to an Arrow array of numbers, or of lists."""
    native = y.astype(y.dtype.newbyteorder("="), copy=False)
    column = pa.array(native.ravel())
    for size in reversed(y.shape[2:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    if y.ndim == 1:
        return column
    offsets = np.arange(len(y) + 1, dtype=np.int32) * y.shape[1]
    return pa.ListArray.from_arrays(offsets, column)


def cast_table(table, schema, where):
    """Casts a table to a schema. Raises DataError if values would be lost."""
    if table.schema.equals(schema):
        return table
    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        text = "must have the columns and types of the first records"
        raise DataError(f"{where}: {text}: {error}") from None
