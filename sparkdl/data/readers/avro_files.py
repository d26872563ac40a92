"""Avro's files of records."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from sparkdl.data import files
from sparkdl.data.columns import Offence
from sparkdl.data.readers.arrow import require_column
from sparkdl.data.readers.avro_blocks import opened, records
from sparkdl.data.readers.chunks import batches, stacked
from sparkdl.data.readers.image import decode_image
from sparkdl.data.readers.images import require_content
from sparkdl.data.readers.listing import Bytes, byte_splits, require_split_bytes
from sparkdl.errors import DataError, require

CONTENTS = ("numbers", "images")


@dataclass(frozen=True, kw_only=True)
class Blocks(Bytes):
    """The blocks behind the markers in bytes `start` to `stop` of a file."""

    def __str__(self):
        return f"{self.path}, records of bytes {self.start} to {self.stop}"


@dataclass(frozen=True)
class AvroFiles:
    """A file of Avro records, or all files below a folder.

    Blocks may be plain or compressed by deflate, snappy, zstandard, bzip2 or xz.

    Parameters
    ----------
    path : str
        A file or folder, local or a URI; the same on every machine.
    features : str
        Field of bytes or fixed (uint8), or of an array of numbers, which may be nested.
    label : str or None
        Field of a number, or likewise. None: read no labels.
    content : str
        "numbers", or "images" where `features` are encoded (JPEG, PNG ...).
    channels : str
        Of images that are decoded: "RGB", "BGR" (as Caffe has them) or "gray".
    size : int, pair of int, or None
        Height and width that images are resized to, bilinearly. None: all must be of one size.
    transform : callable or None
        Batch to Batch, applied to each minibatch.
    bytes_per_split : int or None
        None: 1 MiB, or more where that made over 4,096 splits.
    """

    path: str
    _: KW_ONLY
    features: str = "features"
    label: str | None = "label"
    content: str = "numbers"
    channels: str = "RGB"
    size: int | tuple[int, int] | None = None
    transform: object = None
    bytes_per_split: int | None = None

    def __post_init__(self):
        require_content(self, CONTENTS)
        sized = self.size is None or self.content == "images"
        require(self, "size", sized, "None where content is numbers")
        require_split_bytes(self)

    @property
    def labels(self):
        """The field of labels, None where there are none."""
        return self.label

    def splits(self):
        """Ranges of bytes. Reads nothing but the files' sizes."""
        return byte_splits(Blocks, self.path, self.bytes_per_split)

    def read(self, split):
        """Batches of a few megabytes: features and labels as they are stored."""
        with files.open(split.path) as file:
            source, blocks = opened(split.path, file)
            self._check_fields(split.path, blocks.writer_schema)
            found = records(split, file, source, blocks)
            yield from batches(
                split, found, self._columns, lambda record: length(record[self.features])
            )

    def _check_fields(self, path, schema):
        if not isinstance(schema, dict) or schema["type"] != "record":
            raise DataError(f"{path}: must hold records of named fields, got {schema!r:.80}")
        names = [field["name"] for field in schema["fields"]]
        for name in filter(None, (self.features, self.label)):
            require_column(name, names, path)

    def _columns(self, found):
        x = [self._array(record[self.features], row) for row, record in enumerate(found)]
        columns = {"features": stacked(x)}
        if self.label is not None:
            y = [numbers(record[self.label], self.label, row) for row, record in enumerate(found)]
            columns["labels"] = stacked(y, "label")
        return columns

    def _array(self, value, row):
        if self.content == "numbers":
            return np.atleast_1d(numbers(value, self.features, row))
        if not isinstance(value, bytes):
            raise Offence(row, f"field {self.features!r} must be bytes, got {value!r:.80}")
        return decode_image(value, self.channels, self.size, row)


def length(value):
    """About how much room a value takes."""
    return len(value) if hasattr(value, "__len__") else 1


def numbers(value, name, row):
    """uint8 of bytes, int64 or float32 of numbers, in the shape that they have. Raises Offence."""
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    try:
        found = np.array(value)
    except ValueError:  # lists of different length
        found = np.array(None)
    if found.dtype.kind not in "biuf" or not found.size:
        raise Offence(row, f"field {name!r} must be bytes, or hold numbers, got {value!r:.80}")
    return found.astype(np.float32) if found.dtype.kind == "f" else found
