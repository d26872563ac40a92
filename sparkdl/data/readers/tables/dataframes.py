"""Reader of DataFrames stored by Spark, for networks of several inputs and outputs."""

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import json

from sparkdl.config import Choice, Mapping, Of, Path, Text, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.core.base import Reader, StoredSource
from sparkdl.data.readers.core.chunks import BYTES_PER_BATCH, RECORDS_PER_BATCH
from sparkdl.data.readers.core.file_ranges import ByteSplit, byte_splits, open_listed
from sparkdl.data.readers.encodings.arrow_columns import cure_for, require_column
from sparkdl.data.readers.tables import parquet
from sparkdl.data.readers.tables.frame_columns import FrameColumn
from sparkdl.data.readers.text_files.csv_lines import lines_between
from sparkdl.data.source import Split
from sparkdl.errors import DataError

FORMATS = ("parquet", "json")
FEW = 64  # batch size if image sizes are unknown


@dataclass(frozen=True, kw_only=True)
class JsonLines(ByteSplit):
    """The lines that begin in bytes `start` to `stop` (exclusive) of a file."""

    def __str__(self) -> str:
        return f"{self.path}, lines of bytes {self.start} to {self.stop}"


@dataclass(frozen=True, kw_only=True)
class DataFrames(StoredSource, Reader):
    """A DataFrame in a folder of Parquet or JSON files, or in one such file."""

    path: PathName = option(
        Path(),
        "Local or a URI; the same on every machine. Files end in .parquet or .json.",
        kw_only=False,
    )
    columns: dict[str, FrameColumn] = option(
        Mapping(keys=Text(what="a column of a batch"), values=Of(family=FrameColumn), minimum=1),
        "{column of a batch: Numbers or Pictures}.",
    )
    format: str = option(
        Choice(of=FORMATS), '"parquet" or "json" (an object a line).', default="parquet"
    )
    key: str = option(
        Text(what="a name"),
        "Column of the records' names, if there is one.",
        default="id",
    )

    def splits(self) -> list[Split]:
        """Returns row groups, or ranges of lines. Reads only sizes and footers of the files."""
        if self.format == "parquet":
            return parquet.row_groups(self.path, [one.name for one in self.columns.values()])
        return byte_splits(JsonLines, self.path, endings=[".json"])

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of a few megabytes: numbers as they are stored, images uint8."""
        start, size = 0, self._batch_size()
        names = [name for column in self.columns.values() for name in column.names]
        for table in self._tables(split, list(dict.fromkeys(names))):
            for at in range(0, table.num_rows, size):
                part = table.slice(at, size)
                yield self._batch(split, start + at, part)
            start += table.num_rows

    def names(self, split: Any) -> Collection[str] | None:
        """Returns the names of the records of a split; None where no column has them."""
        names: list[str] = []
        for table in self._tables(split, [self.key]):
            if self.key not in table.schema.names:
                return None
            names += map(str, table.column(self.key).to_pylist())
        return names

    def _batch_size(self):
        sizes = [column.nbytes for column in self.columns.values()]
        if None in sizes:
            return FEW
        return max(1, min(RECORDS_PER_BATCH, BYTES_PER_BATCH // max(1, sum(sizes))))

    def _tables(self, split, names):
        if self.format == "parquet":
            return parquet.tables(split, names)
        return json_tables(split)

    def _batch(self, split, start, table):
        arrays = {}
        for name, column in self.columns.items():
            require_column(column.name, table.schema.names, str(split))
            try:
                arrays[name] = column.array(table)
            except Violation as offence:
                place = f"{split}, record {start + offence.row}"
                text = f"{offence}{cure_for(offence, name == 'labels')}"
                raise DataError(f"{place}: column {column.name!r} {text}") from None
        return Batch(columns=arrays, ids=record_ids(split.partition, start, table.num_rows))


def json_tables(split):
    """Yields the Arrow table of the lines in a split, if there are any."""
    with open_listed(split, split.stop) as file:
        content = lines_between(file, split.start, split.stop, skip=False)
    if not content.strip():
        return
    options = json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    try:
        yield json.read_json(pa.BufferReader(content), read_options=options).combine_chunks()
    except pa.ArrowInvalid as error:
        raise DataError(f"{split}: {error}") from None
