"""Reader of Parquet files by row groups."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from itertools import accumulate, islice, pairwise
from typing import Any

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from sparkdl.config import Optional, Text, dataclass, option
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch
from sparkdl.data.file_stamps import stamp_files
from sparkdl.data.ordered_calls import each_in_order
from sparkdl.data.readers.core.base import Reader, StoredSource
from sparkdl.data.readers.core.file_ranges import ByteSplit, list_data, require_as_listed
from sparkdl.data.readers.encodings.arrow_columns import require_one, table_batch
from sparkdl.data.source import Split
from sparkdl.errors import DataError, text_of

RECORDS_PER_BATCH, BYTES_PER_BATCH = 4096, 2**24
PIECE, WHOLE = 2**18, 2**25  # bytes: per read, and of a file whose columns are read whole
FOOTER = 2**16  # bytes at the end of a file that hold most footers


@dataclass(frozen=True, kw_only=True)
class RowGroup(ByteSplit):
    """Row group number `group` of a file's `groups`, in bytes `start` to `stop`."""

    group: int
    groups: int

    def __str__(self) -> str:
        return f"{self.path}, row group {self.group}"


@dataclass(frozen=True, kw_only=True)
class Parquet(StoredSource, Reader):
    """Columns of a Parquet file, or of all files below a folder that end in .parquet."""

    features: str = option(
        Text(what="the name of a column"),
        "Column of numbers, lists (also nested or of fixed size), Spark vectors, or binary "
        "(uint8).",
        default="features",
    )
    label: str | None = option(
        Optional(of=Text(what="the name of a column")),
        "Column of numbers, lists or vectors. None: read no labels.",
        default="label",
    )

    def splits(self) -> list[Split]:
        """Returns the row groups that hold records. Reads only the files' footers."""
        return row_groups(self.path, self._columns().values())

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of up to 4,096 records, and about 16 megabytes; dtypes as stored."""
        names, start = self._columns(), 0
        for table in tables(split, list(names.values())):
            yield table_batch(table, names, str(split), split.partition, start)
            start += table.num_rows

    def _columns(self):
        return {"features": self.features} | ({"labels": self.label} if self.label else {})


def row_groups(path, columns):
    """Returns the RowGroups with records, of a file or of all files below a folder.

    Raises
    ------
    DataError
        If a file lacks one of the columns, or the names of its folders have it too.
    """
    listed = list_data(path, [".parquet"])
    with each_in_order(partial(groups_of, path, columns), list(listed.items()), listed) as found:
        groups = [group for of_file in found for group in of_file]
    return [
        RowGroup(partition=i, path=file, group=group, **about)
        for i, (file, group, about) in enumerate(groups)
    ]


def file_schemas(path, columns):
    """Returns {absolute path: Arrow schema} for a file or all files below a folder.

    Raises
    ------
    DataError
        As `row_groups` does.
    """
    listed = list_data(path, [".parquet"])
    with each_in_order(partial(schema_of, path, columns), list(listed.items()), listed) as schemas:
        return dict(zip(listed, schemas, strict=True))


def schema_of(root, columns, listed):
    path, _ = listed
    return _require_in_file(root, columns, footer_of(*listed)[1], path)


def groups_of(root, columns, listed):
    """Returns [(path, number, other fields)] of the RowGroups of a file, (path, bytes or None)."""
    path, size = listed
    metadata, schema = footer_of(*listed)
    _require_in_file(root, columns, schema, path)
    groups = places_of(metadata, files.size(path) if size is None else size)
    about = {"groups": len(groups)}
    return [(path, i, about | group) for i, group in enumerate(groups) if group["count"]]


def footer_of(path, size):
    """Returns (metadata, Arrow schema) of a file; of one not on this disk only the end is read."""
    if not files.is_local(path):
        end = files.tail(path, FOOTER, files.size(path) if size is None else size)
        errors = pa.ArrowException, OSError, UnicodeDecodeError
        with suppress(*errors), ParquetFile(pa.BufferReader(end)) as file:
            return file.metadata, file.schema_arrow  # else below: errors, and longer footers
    with _open_parquet(path) as file:
        return file.metadata, file.schema_arrow


def _require_in_file(root, columns, schema, path):
    """Returns a file's schema. Raises DataError unless it alone has one column of each name."""
    of_folders = {*map(str.lower, folder_columns(root, path)[1])}  # as Spark compares names
    for column in columns:
        if f"/{column}=" in path and column not in schema.names:
            raise DataError(
                f"{path}: has no column {column!r}, which is in the names of folders alone: give "
                "the DataFrame of spark.read.parquet, which takes it from there"
            )
        if column.lower() in of_folders:
            raise DataError(
                f"{path}: column {column!r} is in the file and in the names of folders: give the "
                "DataFrame of spark.read.parquet, which takes that of the folders, or rename one"
            )
        require_one(column, schema, path)
    return schema


def folder_columns(path, file):
    """Returns (folder, names) of partition columns: ("a", ("day",)) of a/day=1/b/c."""
    folders = file.removeprefix(files.absolute(path).rstrip("/")).split("/")[1:-1]
    while folders and "=" not in folders[-1]:
        folders.pop()
    names = []
    while folders and "=" in folders[-1]:
        names.insert(0, folders.pop().partition("=")[0])
    return "/".join(folders), tuple(names)


def tables(split, columns):
    """Yields Arrow record batches of a RowGroup, with those of the columns that exist."""
    with _open_parquet(split.path) as file:
        require_as_listed(split.path, "row groups", split.groups, file.metadata.num_row_groups)
        group = file.metadata.row_group(split.group)
        require_as_listed(split, "records", split.count, group.num_rows)
        wanted = [one.type for one in file.schema_arrow if one.name in columns]
        least = 0 if all(map(pa.types.is_primitive, wanted)) else first_bytes(split, columns)
        size = batch_size(group, least)
        yield from file.iter_batches(size, row_groups=[split.group], columns=columns)


def places_of(metadata, size):
    """Returns the record count and approximate byte range of each row group.

    Row groups are consecutive, and their sizes are estimated from the uncompressed sizes. The true
    column offsets are not used, as pyarrow crashes if a damaged file states an impossible one.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    ends = list(accumulate(max(0, group.total_byte_size) for group in groups))
    whole = max(1, ends[-1] if ends else 0)
    places = [size * end // whole for end in [0, *ends]]
    return [
        {"count": group.num_rows, "start": start, "stop": stop}
        for group, (start, stop) in zip(groups, pairwise(places), strict=True)
    ]


def batch_size(group, least):
    """Returns the number of records in a batch of a few megabytes.

    Parameters
    ----------
    group : RowGroupMetaData
    least : int
        Bytes of a record in memory, if it is like the first. Equal numbers take almost nothing in a
        file.
    """
    each = max(1, least, group.total_byte_size / group.num_rows)
    return max(1, min(RECORDS_PER_BATCH, int(BYTES_PER_BATCH / each)))


def first_bytes(split, columns):
    """Returns the bytes in memory of the first record of a RowGroup."""
    with _open_parquet(split.path, in_pieces=True) as file:
        records = file.iter_batches(1, row_groups=[split.group], columns=columns)
        return sum(record.nbytes for record in islice(records, 1))


@contextmanager
def _open_parquet(path, in_pieces=False):
    """Opens a ParquetFile.

    pyarrow reads local files itself, piece by piece on demand, which is several times faster than
    through Python files. Of others it reads whole columns, unless `in_pieces`. Of a small file it
    reads whole columns always: in pieces, it gets the memory that the header of a page claims, up
    to two gigabytes.
    """
    local, footer = files.is_local(path), _footer(stamp_files([path]))
    with _native(path) if local else files.open(path) as content:
        try:
            large = (local or in_pieces) and content.seek(0, os.SEEK_END) > WHOLE
            how = {"pre_buffer": not (local or in_pieces), "buffer_size": PIECE if large else 0}
            with ParquetFile(content, metadata=footer[0] if footer else None, **how) as file:
                if not footer:
                    footer.append(file.metadata)
                yield file
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            text = text_of(error).split("\n")[0]
            raise DataError(f"{path}: cannot be read as Parquet: {text}") from error


def _footer(stamps):
    """Returns a list that caches a file's footer, which each row group needs.

    It is empty at first. Nothing is cached if `stamps` is None.
    """
    return [] if stamps is None else _kept_footer(stamps)


@lru_cache(maxsize=4)
def _kept_footer(stamps):
    return []


def _native(path):
    files.size(path)  # raises sparkdl's own error for a bad path
    return pa.OSFile(files.local_path(path))
