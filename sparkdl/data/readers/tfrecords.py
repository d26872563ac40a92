"""Reader of TensorFlow's files of Example messages."""

import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import google_crc32c

from sparkdl.config import Optional, Text, dataclass, option
from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.core.base import NumberOrImageSource, Reader, StoredSource
from sparkdl.data.readers.core.chunks import batches, stack_arrays
from sparkdl.data.readers.core.file_ranges import data_sizes, open_listed
from sparkdl.data.readers.encodings.decompression import room
from sparkdl.data.readers.encodings.file_window import FileWindow
from sparkdl.data.readers.encodings.image_codec import decode_image
from sparkdl.data.readers.encodings.tf_example import feature, numbers, one_string, parse
from sparkdl.data.source import Split
from sparkdl.errors import DataError, count_of

HEAD, TAIL = struct.Struct("<QI"), struct.Struct("<I")  # length, its checksum; that of the data
GZIP = b"\x1f\x8b\x08"


@dataclass(frozen=True, kw_only=True)
class RecordFile(Split):
    """All records of a file of `size` bytes."""

    path: str
    size: int

    def __str__(self) -> str:
        return self.path

    def spans(self) -> list[tuple[str, int, int | None]]:
        return [(self.path, 0, self.size)]


@dataclass(frozen=True, kw_only=True)
class TFRecords(StoredSource, Reader, NumberOrImageSource):
    """A file of tf.train.Examples, or all files below a folder; gzipped ones too.

    Each file is one split, since only the record before tells where a record begins. The checksums
    of all records are verified.
    """

    features: str = option(
        Text(what="the name of a feature"),
        "Feature of floats, integers or one string of bytes (uint8).",
        default="features",
    )
    label: str | None = option(
        Optional(of=Text(what="the name of a feature")),
        "Feature of the labels, of a type as above. None: read no labels.",
        default="label",
    )

    @property
    def labels(self) -> str | None:
        """The feature of labels; None without labels."""
        return self.label

    def splits(self) -> list[Split]:
        """Returns a split for each file. Reads only their sizes."""
        sized = [(path, size) for path, size in data_sizes(self.path).items() if size]
        if not sized:
            raise DataError(f"{self.path}: must hold records, but is empty")
        return [
            RecordFile(partition=i, count=None, path=path, size=size)
            for i, (path, size) in enumerate(sized)
        ]

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of a few megabytes: features and labels as they are stored."""
        with open_records(split) as (file, largest):
            yield from batches(split, read_records(split, file, largest), self._columns)

    def _columns(self, contents):
        parsed = [parse(content, row) for row, content in enumerate(contents)]
        columns = {
            "features": stack_arrays([self._array(one, row) for row, one in enumerate(parsed)])
        }
        if self.label is not None:
            labels = [self._numbers(one, self.label, row) for row, one in enumerate(parsed)]
            labels = stack_arrays(labels, "label")
            columns["labels"] = labels[:, 0] if labels.shape[1:] == (1,) else labels
        return columns

    def _array(self, parsed, row):
        if self.content == "numbers":
            return self._numbers(parsed, self.features, row)
        content = one_string(feature(parsed, self.features, row), self.features, row)
        return decode_image(content, self.channels, self.size, row, self.exif_orientation)

    @staticmethod
    def _numbers(parsed, name, row):
        return numbers(feature(parsed, name, row), name, row)


@contextmanager
def open_records(split):
    """Opens the file, decompressing gzip; yields it with the size limit of a record."""
    with open_listed(split, split.size) as file:
        head = file.read(HEAD.size)
        file.seek(0)
        if head.startswith(GZIP) and not is_length_valid(head):  # a length can begin like gzip, too
            with gzip.open(file) as inner:
                yield inner, room(split.size)
        else:
            yield file, math.inf  # only the end of the file limits records


def read_records(split, file, largest):
    """Yields the bytes of each record, of at most `largest` bytes.

    Raises DataError if the file is truncated or damaged.
    """
    count = 0
    try:
        window = FileWindow(file, 0)
        while window.more():
            yield next_record(window, largest)
            count += 1
    except Violation as offence:
        raise DataError(f"{split}, after {count_of(count, 'record')}: the file {offence}") from None
    except (OSError, EOFError, zlib.error) as error:
        text = f"the file cannot be read: {error}"
        raise DataError(f"{split}, after {count_of(count, 'record')}: {text}") from error


def next_record(window, largest):
    head = window.take(HEAD.size)
    length, _ = HEAD.unpack(head)
    if not is_length_valid(head):
        raise Violation(0, "is damaged or no TFRecord: the checksum of a length differs")
    if length > largest:
        raise Violation(0, f"must have records of at most {largest} bytes, got {length}")
    content = window.take(length)
    if masked_crc(content) != TAIL.unpack(window.take(TAIL.size))[0]:
        raise Violation(0, "is damaged: the checksum of a record differs")
    return content


def is_length_valid(head):
    """Returns whether the checksum after a length is correct."""
    return len(head) == HEAD.size and masked_crc(head[:8]) == HEAD.unpack(head)[1]


def masked_crc(content):
    """Returns the masked CRC-32C of `content`, as TensorFlow and LevelDB store it."""
    crc = google_crc32c.value(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
