"""Reader of Avro files."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from sparkdl.config import Optional, Text, dataclass, option
from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.avro.blocks import open_blocks, records
from sparkdl.data.readers.avro.schemas import float_type
from sparkdl.data.readers.core.base import NumberOrImageSource, Reader, SplitByBytes, StoredSource
from sparkdl.data.readers.core.chunks import batches, stack_arrays
from sparkdl.data.readers.core.file_ranges import ByteSplit, byte_splits, open_listed
from sparkdl.data.readers.encodings.arrow_columns import refuse_repeated, require_column
from sparkdl.data.readers.encodings.image_codec import decode_image
from sparkdl.data.source import Split
from sparkdl.errors import DataError


@dataclass(frozen=True, kw_only=True)
class AvroRange(ByteSplit):
    """The blocks whose preceding marker begins in bytes `start` to `stop` of a file."""

    def __str__(self) -> str:
        return f"{self.path}, records of bytes {self.start} to {self.stop}"


@dataclass(frozen=True, kw_only=True)
class AvroFiles(StoredSource, Reader, NumberOrImageSource, SplitByBytes):
    """A file of Avro records, or all files below a folder.

    Blocks may be plain or compressed by deflate, snappy, zstandard, bzip2 or xz.
    """

    features: str = option(
        Text(what="the name of a field"),
        "Field of bytes or fixed (uint8), or of an array of numbers, which may be nested.",
        default="features",
    )
    label: str | None = option(
        Optional(of=Text(what="the name of a field")),
        "Field of a number, or of a type as above. None: read no labels.",
        default="label",
    )

    @property
    def labels(self) -> str | None:
        """The field of labels; None without labels."""
        return self.label

    def splits(self) -> list[Split]:
        """Returns ranges of bytes. Reads only the files' sizes."""
        return byte_splits(AvroRange, self.path, self.bytes_per_split)

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of a few megabytes: features and labels as they are stored."""
        with open_listed(split, split.stop) as file:
            avro = open_blocks(split.path, file)
            columns = partial(self._columns, self._float_types(split.path, avro.schema))
            stored = records(split, file, avro)
            yield from batches(split, stored, columns, lambda one: length(one[self.features]))

    def _float_types(self, path, schema):
        """Returns {field that is read: its `float_type`}.

        Raises DataError unless the schema has each of these fields exactly once.
        """
        if not isinstance(schema, dict) or schema["type"] != "record":
            raise DataError(f"{path}: must hold records of named fields, got {schema!r:.80}")
        names = [field["name"] for field in schema["fields"]]
        wanted = list(filter(None, (self.features, self.label)))
        for name in wanted:
            require_column(name, names, path)
            refuse_repeated(name, names.count(name), path)
        types = {field["name"]: field["type"] for field in schema["fields"]}
        return {name: float_type(types[name]) for name in wanted}

    def _columns(self, floats, stored):
        dtype = floats[self.features]
        x = [self._array(record[self.features], row, dtype) for row, record in enumerate(stored)]
        columns = {"features": stack_arrays(x)}
        if self.label is not None:
            about = self.label, floats[self.label]
            y = [numbers(record[self.label], row, *about) for row, record in enumerate(stored)]
            columns["labels"] = stack_arrays(y, "label")
        return columns

    def _array(self, value, row, dtype):
        if self.content == "numbers":
            return np.atleast_1d(numbers(value, row, self.features, dtype))
        if not isinstance(value, bytes):
            raise Violation(row, f"field {self.features!r} must be bytes, got {value!r:.80}")
        return decode_image(value, self.channels, self.size, row, self.exif_orientation)


def length(value):
    """Returns the approximate size of a value."""
    return len(value) if hasattr(value, "__len__") else 1


def numbers(value, row, name, dtype):
    """Converts a value to an array of its shape.

    Bytes become uint8, whole numbers int64, others `dtype`. Raises Violation.
    """
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    try:
        array = np.array(value)
    except ValueError:  # lists of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" or not array.size:
        raise Violation(row, f"field {name!r} must be bytes, or hold numbers, got {value!r:.80}")
    return array.astype(dtype, copy=False) if array.dtype.kind == "f" else array
