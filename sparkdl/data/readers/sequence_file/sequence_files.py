"""Reader of Hadoop's SequenceFiles of images, Datums or bytes."""

from collections.abc import Iterator
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from sparkdl.config import Boolean, Choice, dataclass, option
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.columns import Violation, is_int32, parse_number
from sparkdl.data.ordered_calls import each_in_order
from sparkdl.data.readers.core.base import ImageSource, Reader, SplitByBytes, StoredSource
from sparkdl.data.readers.core.chunks import batches, stack_arrays
from sparkdl.data.readers.core.file_ranges import ByteSplit, byte_splits, open_listed
from sparkdl.data.readers.encodings.datum import decode
from sparkdl.data.readers.encodings.hadoop_format import SequenceHeader, read_header
from sparkdl.data.readers.encodings.image_codec import decode_image, resize_image
from sparkdl.data.readers.encodings.java_objects import MAGIC, read_object
from sparkdl.data.readers.sequence_file.reader import read_records
from sparkdl.data.source import Split
from sparkdl.errors import DataError, count_of

CONTENTS = ("images", "datums", "bytes")
HEADER_BYTES = 2**16


@dataclass(frozen=True, kw_only=True)
class SequenceRange(ByteSplit):
    """The records after sync markers in bytes `start` to `stop` of a file."""

    header: SequenceHeader = field(repr=False)

    def __str__(self) -> str:
        return f"{self.path}, records of bytes {self.start} to {self.stop}"


@dataclass(frozen=True, kw_only=True)
class SequenceFiles(StoredSource, Reader, ImageSource, SplitByBytes):
    """SequenceFiles, plain or compressed by record or block (zlib, gzip, bzip2).

    A label is the last word of a key that is Text ("n01/cat.jpg 3"), a key that is a number, or the
    second part of a Java tuple in a BytesWritable, as CaffeOnSpark's Binary2Sequence and
    LMDB2Sequence write them. A Datum holds its own.
    """

    content: str = option(
        Choice(of=CONTENTS),
        'Content of the values: "images" (JPEG, PNG ... or bytes of which CaffeOnSpark\'s key '
        'says the shape), "datums" or "bytes" (uint8, all records as long).',
        default="images",
    )
    label: bool = option(Boolean(), "False: read no labels.", default=True)

    @property
    def labels(self) -> bool | None:
        """True, or None without labels."""
        return self.label or None

    def splits(self) -> list[Split]:
        """Returns ranges of bytes. Reads only the header of each file."""
        return byte_splits(SequenceRange, self.path, self.bytes_per_split, about=headers_of)

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of a few megabytes, uint8 features and int32 labels.

        Features are (n, C, H, W) or (n, bytes).
        """
        columns = {"images": self._images, "datums": self._datums, "bytes": self._bytes}
        with open_listed(split, split.stop) as file:
            stored = read_records(file, split.header, split.start, split.stop)
            stored = raise_data_errors(split, stored)
            yield from batches(
                split, stored, columns[self.content], lambda pair: len(pair[1] or b"")
            )

    def _images(self, pairs):
        names = ("channels", "size", "exif_orientation")
        return self._columns(
            pairs, partial(image_of, **{name: getattr(self, name) for name in names})
        )

    def _bytes(self, pairs):
        return self._columns(pairs, lambda row, key, value: np.frombuffer(value, np.uint8))

    def _datums(self, pairs):
        values = [as_bytes(row, value) for row, (_, value) in enumerate(pairs)]
        x, y = decode(values, self.size, self.exif_orientation)
        return {"features": x, "labels": y} if self.label else {"features": x}

    def _columns(self, pairs, array_of):
        keys = [key_of(row, key) for row, (key, _) in enumerate(pairs)]
        x = [array_of(row, keys[row], as_bytes(row, value)) for row, (_, value) in enumerate(pairs)]
        columns = {"features": stack_arrays(x)}
        if self.label:
            columns["labels"] = np.array([label_of(row, k) for row, k in enumerate(keys)], np.int32)
        return columns


def headers_of(paths):
    """Yields the fields of the splits of each file: its SequenceHeader."""
    with each_in_order(header_of, paths) as headers:
        for header in headers:
            yield {"header": header}


def header_of(path):
    """Returns the SequenceHeader of a file. Raises DataError."""
    try:
        return read_header(files.head(path, HEADER_BYTES))
    except Violation as offence:
        raise DataError(f"{path}: {offence}") from None


def raise_data_errors(split, records):
    """Yields the records; turns a Violation of the file's format into a DataError."""
    count = 0
    try:
        for count, record in enumerate(records, 1):  # noqa: B007
            yield record
    except Violation as offence:
        raise DataError(f"{split}, after {count_of(count, 'record')}: the file {offence}") from None


def key_of(row, key):
    """Returns a key, in which a serialized Java tuple becomes a list."""
    if isinstance(key, bytes) and key.startswith(MAGIC):
        try:
            return read_object(key)
        except ValueError as error:
            raise Violation(row, f"key holds {error}") from None
    return key


def label_of(row, key):
    """Returns the label in a key. Raises Violation unless it is a whole number within int32."""
    try:
        value = key[1] if isinstance(key, list) else key
        value = value.split()[-1] if isinstance(key, str) else value
        label = parse_number(value, int) if isinstance(value, str) else int(value)
        fits = is_int32(label) and (isinstance(value, str) or label == value)
    except (ValueError, IndexError, TypeError):
        must = "must be a number, a text that ends in one, or a tuple with it in second place"
        raise Violation(row, f"key {must}, got {key!r:.80}") from None
    except OverflowError:  # infinity
        fits = False
    if not fits:
        raise Violation(row, f"label must be a whole number of int32, got {value!r:.80}")
    return label


def image_of(row, key, value, channels, size, exif_orientation):
    """Decodes an image, unless the tuple (id, label, C, H, W, encoded) says that it is raw."""
    if isinstance(key, list) and len(key) == 6 and not key[5]:
        shape = tuple(key[2:5])
        if len(value) != np.prod(shape):
            raise Violation(
                row, f"image of shape {shape} must hold as many bytes, got {len(value)}"
            )
        return resize_image(np.frombuffer(value, np.uint8).reshape(shape), size)
    return decode_image(value, channels, size, row, exif_orientation)


def as_bytes(row, value):
    if not isinstance(value, bytes):
        raise Violation(row, f"value must be bytes, got {value!r:.80}")
    return value
