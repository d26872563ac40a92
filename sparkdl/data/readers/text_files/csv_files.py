"""Reader of CSV files of numbers, one record per line."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from sparkdl.config import (
    Boolean,
    Character,
    Either,
    Integer,
    Optional,
    Sequence,
    Text,
    dataclass,
    option,
)
from sparkdl.config.field_types import OptionalSeveral
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.ordered_calls import each_in_order
from sparkdl.data.readers.core.base import Reader, SplitByBytes, StoredSource
from sparkdl.data.readers.core.file_ranges import ByteSplit, byte_splits, open_listed
from sparkdl.data.readers.encodings.arrow_columns import (
    refuse_repeated,
    require_column,
    table_batch,
)
from sparkdl.data.readers.text_files.csv_lines import first_line, lines_between
from sparkdl.data.source import Split
from sparkdl.errors import DataError, require

RECORDS_PER_BATCH = 4096
NO_NUMBER = (
    "; write numbers, or give the DataFrame of spark.read.csv(path, header=True, "
    "inferSchema=True), whose booleans count as 1 and 0; StringIndexer makes numbers of its texts"
)
LARGEST_BLOCK = 2**31 - 1  # pyarrow uses 32-bit sizes
COLUMN = Either(of=(Text(what="a name"), Integer()))


@dataclass(frozen=True, kw_only=True)
class Lines(ByteSplit):
    """The lines that begin in bytes `start` to `stop` (exclusive) of a file.

    `width` is the number of columns; `features` and `label` are column positions. If `features` is
    None, it means all columns but the label.
    """

    width: int
    features: tuple[int, ...] | None
    label: int | None

    def __str__(self) -> str:
        return f"{self.path}, lines of bytes {self.start} to {self.stop}"


@dataclass(frozen=True, kw_only=True)
class Csv(StoredSource, Reader, SplitByBytes):
    """Columns of numbers of a CSV file, or of all files below a folder.

    If `features` is None and files have headers, the first file defines the features and their
    order; the others have columns of the same names, in any order.

    Splits are byte ranges, so a value may be quoted but must not contain a line break.
    """

    features: OptionalSeveral[str | int] = option(
        Sequence(of=COLUMN, minimum=1),
        "Columns by name, or by position from 0. None: all but the label.",
        default=None,
    )
    label: str | int | None = option(
        Optional(of=COLUMN),
        "Column by name or position (-1: the last one). None: read no labels.",
        default="label",
    )
    header: bool = option(
        Boolean(), "Whether the first line of each file names the columns.", default=True
    )
    delimiter: str = option(Character(), "Separator of two columns.", default=",")

    def validate(self) -> None:
        super().validate()
        features = self.features or ()
        distinct = len(set(features)) == len(features)
        require(self, "features", distinct, "different columns, or None for all but the label")
        named = any(isinstance(column, str) for column in (self.label, *(self.features or ())))
        require(self, "header", self.header or not named, "true where columns go by names")

    @property
    def labels(self) -> str | int | None:
        """The column of labels; None without labels."""
        return self.label

    def splits(self) -> list[Split]:
        """Returns ranges of bytes. Reads only the first line of each file."""
        return byte_splits(Lines, self.path, self.bytes_per_split, about=self._about)

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of up to 4,096 records: features (n, F) float32, labels (n,) float64."""
        with open_listed(split, split.stop) as file:
            content = lines_between(file, split.start, split.stop, skip=self.header)
        if not content.strip():
            return
        columns, start = self._column_names(split), 0
        for table in self._parse(split, content).to_batches(RECORDS_PER_BATCH):
            read = self._batch(split, table, columns, start).columns
            labels = {} if split.label is None else {"labels": read.pop("labels")}
            features = np.stack(list(read.values()), axis=1)
            ids = record_ids(split.partition, start, table.num_rows)
            yield Batch(columns={"features": features, **labels}, ids=ids)
            start += table.num_rows

    def _batch(self, split, table, columns, start):
        try:
            return table_batch(table, columns, str(split), split.partition, start)
        except DataError as error:
            text = str(error).removeprefix(f"{split}, ")
            raise DataError(f"{split}, {self._name_column(split, text)}") from None

    def _about(self, paths):
        """Yields the fields of each file's splits."""
        first = {}
        with each_in_order(partial(first_line, delimiter=self.delimiter), paths) as lines:
            for path, names in zip(paths, lines, strict=True):
                yield self._columns(first, path, names)

    def _columns(self, first, path, names):
        """Returns the positions of the wanted columns in a file with these columns.

        If `features` is None, `first` gets the first file's path and feature names.
        """
        label = None if self.label is None else position(self.label, names, path)
        if self.features is None:
            features = self._other_columns(first, names, label, path)
        else:
            features = tuple(position(one, names, path) for one in self.features)
            require_distinct(self.features, features, path)
        return {"width": len(names), "features": features, "label": label}

    def _other_columns(self, first, names, label, path):
        """Returns the positions of all columns but the label, in the first file's order.

        Returns None if this file has the same order.
        """
        found = [name for i, name in enumerate(names) if i != label]
        if not found:
            raise DataError(f"{path}: must have columns of features beside the label, but has none")
        wanted = first.setdefault("names", found)
        origin = first.setdefault("path", path)
        if not self.header or found == wanted:
            return None
        require_same_names(found, wanted, path, origin)
        places = {name: i for i, name in enumerate(names) if i != label}
        return tuple(places[name] for name in wanted)

    def _column_names(self, split):
        """Returns {name in the batch: name in the parsed table}, with features in order."""
        places = split.features
        if places is None:
            places = [i for i in range(split.width) if i != split.label]
        names = {f"features {i}": str(i) for i in places}
        return names | ({} if split.label is None else {"labels": str(split.label)})

    def _parse(self, split, content):
        names = [str(i) for i in range(split.width)]
        selected = list(self._column_names(split).values())
        types = {name: pa.float32() for name in selected}
        if split.label is not None:
            types[str(split.label)] = pa.float64()
        try:
            return csv.read_csv(
                pa.BufferReader(content),
                read_options=csv.ReadOptions(
                    column_names=names,
                    use_threads=False,
                    block_size=min(len(content) + 1, LARGEST_BLOCK),  # large enough for any line
                ),
                parse_options=csv.ParseOptions(delimiter=self.delimiter),
                convert_options=csv.ConvertOptions(
                    column_types=types, include_columns=list(dict.fromkeys(selected))
                ),
            )
        except pa.ArrowInvalid as error:
            text = re.sub(r"^In CSV column #(\d+): (Row #\d+)", r"\2: column '\1'", str(error))
            text = re.sub(r"Row #(\d+)", lambda row: f"record {int(row[1]) - 1}", text)
            cure = NO_NUMBER if "invalid value" in text else ""
            raise DataError(f"{split}: {self._name_column(split, text)}{cure}") from None

    def _name_column(self, split, text):
        """Replaces a column's position in an error's text by its name in the header.

        The header is read only for errors. The position stays if there is no name, or it is not
        unique.
        """
        found = re.match(r"(record \d+: column )'(\d+)'", text)
        if not found:
            return text
        names = first_line(split.path, self.delimiter) if self.header else []
        place = int(found[2])
        name = names[place] if place < len(names) else ""
        shown = repr(name) if name and names.count(name) == 1 else place
        return f"{found[1]}{shown}{text[found.end() :]}"


def position(column, names, where):
    """Returns the index of a column given by name or index. Raises DataError."""
    if isinstance(column, str):
        require_column(column, names, where)
        cure = "rename all but one, or give a position"
        refuse_repeated(column, names.count(column), where, cure)
        return names.index(column)
    if not -len(names) <= column < len(names):
        raise DataError(f"{where}: has no column {column}; there are {len(names)}")
    return column % len(names)


def require_distinct(columns, places, where):
    """Raises DataError if two columns, given by name or index, are the same."""
    seen = {}
    for column, place in zip(columns, places, strict=True):
        if place in seen:
            text = f"{seen[place]!r} and {column!r} are the same column"
            raise DataError(f"{where}: features must be different columns, but {text}")
        seen[place] = column


def require_same_names(found, wanted, where, first):
    """Raises DataError unless a file's features have the same names as those of the first file."""
    here, there = Counter(found), Counter(wanted)
    for name in [*wanted, *found]:
        if (here[name], there[name]) != (1, 1):
            finding = f"but column {name!r} occurs {here[name]} times, not {there[name]}"
            if here[name] == there[name]:
                finding = f"but column {name!r} occurs {here[name]} times, in another order"
            text = f"must have the columns of features of {first}, {finding}"
            raise DataError(f"{where}: {text}; Csv.features may choose columns")
