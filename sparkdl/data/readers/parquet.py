"""Parquet files, read by row groups."""

from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from sparkdl.data import files
from sparkdl.data.readers.arrow import require_column, table_batch
from sparkdl.data.readers.listing import data_files
from sparkdl.data.source import Split
from sparkdl.errors import DataError, require

RECORDS_PER_BATCH = 4096


@dataclass(frozen=True, kw_only=True)
class RowGroup(Split):
    """Row group number `group` of a file."""

    path: str
    group: int

    def __str__(self):
        return f"{self.path}, row group {self.group}"


@dataclass(frozen=True)
class Parquet:
    """Columns of a Parquet file, or of all files below a folder that end in .parquet.

    Parameters
    ----------
    path : str
        A file or folder, local or a URI; the same on every machine.
    features : str
        Column of numbers, lists (also nested or of fixed size), Spark vectors, or binary (uint8).
    label : str or None
        Column of numbers, lists or vectors. None: read no labels.
    transform : callable or None
        Batch to Batch, applied to each minibatch.
    """

    path: str
    _: KW_ONLY
    features: str = "features"
    label: str | None = "label"
    transform: object = None

    def __post_init__(self):
        require(self, "features", self.features, "the name of a column")
        require(self, "label", self.label is None or self.label, "the name of a column or None")

    def splits(self):
        """Every row group that holds records. Reads the files' footers alone."""
        found = data_files(self.path, [".parquet"])
        groups = [group for path in found for group in self._groups(path)]
        return [
            RowGroup(partition=i, count=count, path=path, group=group)
            for i, (path, group, count) in enumerate(groups)
        ]

    def read(self, split):
        """Batches of up to 4,096 records, dtypes as stored."""
        names, start = self._columns(), 0
        wanted = list(names.values())
        with _opened(split.path) as file:
            tables = file.iter_batches(RECORDS_PER_BATCH, row_groups=[split.group], columns=wanted)
            for table in tables:
                yield table_batch(table, names, str(split), split.partition, start)
                start += table.num_rows

    def _columns(self):
        return {"features": self.features} | ({"labels": self.label} if self.label else {})

    def _groups(self, path):
        with _opened(path) as file:
            for column in self._columns().values():
                require_column(column, file.schema_arrow.names, path)
            counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        return [(path, group, count) for group, count in enumerate(counts) if count]


@contextmanager
def _opened(path):
    with files.open(path) as content:
        try:
            with ParquetFile(content) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            text = str(error).split("\n")[0]
            raise DataError(f"{path}: cannot be read as Parquet: {text}") from error
