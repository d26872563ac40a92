"""Files of fixed-size records: MNIST's IDX files and CIFAR's binaries."""

import gzip
import math
import struct
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np

from sparkdl.config import Choice, Path, dataclass, option
from sparkdl.config.field_types import PathName
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.readers.core.base import Reader, SplitByRecords, StoredSource
from sparkdl.data.readers.core.file_ranges import RecordRange, data_sizes
from sparkdl.data.readers.encodings.decompression import room
from sparkdl.data.source import Split, split_bounds
from sparkdl.errors import DataError

GZIP = b"\x1f\x8b"
DTYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}  # by the code in IDX files
CIFAR = (3, 32, 32)
MOST_AXES = 32
AT_ONCE, AT_ONCE_BYTES = 1024, 16 << 20  # most records and bytes of a batch of a gzipped file
DAMAGES = (OSError, EOFError, zlib.error)  # errors of decompressors


@dataclass(frozen=True, kw_only=True)
class Idx(StoredSource, Reader, SplitByRecords):
    """An IDX file of images, such as train-images-idx3-ubyte, and one of labels; gzipped ones too.

    Gzipped files are one split unless `records_per_split` is given, as each split reads them from
    their start.

    References
    ----------
    LeCun, Cortes and Burges, The MNIST database of handwritten digits: the file format.
    """

    path: PathName = option(
        Path(), "A file, local or a URI; the same on every machine.", kw_only=False
    )
    label_path: str | None = option(
        Path(), "Path of the label file. None: no labels.", default=None
    )

    @property
    def labels(self) -> str | None:
        """The labels' file; None without labels."""
        return self.label_path

    @property
    def paths(self) -> Collection[str]:  # type: ignore[override]
        return (self.path,) if self.label_path is None else (self.path, self.label_path)

    def splits(self) -> list[Split]:
        """Returns ranges of records. Reads only the files' first bytes."""
        with ExitStack() as opened:
            parts = self._open(opened)
            counts, zipped = [part.count for part in parts], any(part.is_zipped for part in parts)
        if len(set(counts)) > 1:
            raise DataError(f"{self.path}: {counts[0]} images need as many labels, got {counts[1]}")
        size = self.records_per_split or (max(1, counts[0]) if zipped else None)
        return ranges(self.path, [(files.absolute(self.path), counts[0])], size)

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields batches: features (n, 1, H, W) or (n, ...), labels (n,), dtypes as stored.

        Those of gzipped files have at most 16 MiB, or one record.
        """
        with ExitStack() as opened:
            parts = self._open(opened)
            zipped = any(part.is_zipped for part in parts)
            record = sum(part.nbytes for part in parts)
            most = max(1, min(AT_ONCE, AT_ONCE_BYTES // record))
            step = most if zipped else split.stop - split.start
            for start in range(split.start, split.stop, step):
                stop = min(start + step, split.stop)
                x, *labels = (part.rows(start, stop) for part in parts)
                x = x[:, np.newaxis] if x.ndim == 3 else x
                columns = {"features": x} | ({"labels": labels[0]} if labels else {})
                ids = record_ids(split.partition, start - split.start, len(x))
                yield Batch(columns=columns, ids=ids)

    def _open(self, opened):
        """Returns the IdxFiles of images and labels, which `opened`, an ExitStack, closes."""
        paths = map(files.absolute, self.paths)
        return [IdxFile(path, opened.enter_context(open_decompressed(path))) for path in paths]


@dataclass(frozen=True, kw_only=True)
class Cifar(StoredSource, Reader, SplitByRecords):
    """A binary file of CIFAR's images (3, 32, 32), RGB, or all .bin files below a folder.

    References
    ----------
    Krizhevsky, Learning multiple layers of features from tiny images (2009): binary version.
    """

    classes: int = option(
        Choice(of=(10, 100)),
        "With 100, records have a coarse label before the fine label, which is used.",
        default=10,
    )

    def splits(self) -> list[Split]:
        """Returns ranges of records. Reads only the files' sizes."""
        sizes = data_sizes(self.path, [".bin"])
        counted = [(path, self._count(path, size)) for path, size in sizes.items()]
        return ranges(self.path, counted, self.records_per_split)

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields one batch: features uint8 (n, 3, 32, 32), labels uint8 (n,)."""
        with files.open(split.path) as file:
            file.seek(split.start * self._size)
            content = file.read((split.stop - split.start) * self._size)
        if len(content) != (split.stop - split.start) * self._size:
            raise DataError(f"{split}: the file is cut short")
        rows = np.frombuffer(content, np.uint8).reshape(-1, self._size)
        x = rows[:, -math.prod(CIFAR) :].reshape(-1, *CIFAR)
        labels = rows[:, -math.prod(CIFAR) - 1]
        columns = {"features": x, "labels": labels}
        yield Batch(columns=columns, ids=record_ids(split.partition, 0, len(x)))

    @property
    def _size(self):
        return math.prod(CIFAR) + (1 if self.classes == 10 else 2)

    def _count(self, path, size):
        if size % self._size:
            raise DataError(f"{path}: must have records of {self._size} bytes, got {size} bytes")
        return size // self._size


def ranges(path, counted, records_per_split):
    """Returns splits of record ranges for files given as [(path, records)]."""
    ranges_of_records = [
        (one, *bound) for one, count in counted for bound in split_bounds(count, records_per_split)
    ]
    if not ranges_of_records:
        raise DataError(f"{path}: must hold records, but is empty")
    return [
        RecordRange(partition=i, count=stop - start, path=one, start=start, stop=stop)
        for i, (one, start, stop) in enumerate(ranges_of_records)
    ]


class IdxFile:
    """An open IDX file; `file` decompresses it.

    Attributes
    ----------
    count : int
        Number of records.
    nbytes : int
        Size of a record.
    is_zipped : bool
        Whether it is gzipped: what lies before the last record read is far.
    """

    def __init__(self, path, file):
        self._path, self._file, self.is_zipped = path, file, isinstance(file, gzip.GzipFile)
        self._dtype, (self.count, *self._shape), self._header = _header(path, file)
        self.nbytes = self._dtype.itemsize * math.prod(self._shape)

    def rows(self, start, stop):
        """Reads records `start` to `stop`."""
        check_size(self._path, self._header, self.nbytes, start, stop, self.is_zipped)
        content = bytearray((stop - start) * self.nbytes)
        try:
            self._file.seek(self._header + start * self.nbytes)
            count = self._file.readinto(content)
        except DAMAGES as error:
            raise DataError(f"{self._path}: cannot be decompressed: {error}") from error
        if count != len(content):
            raise cut_short(self._path, stop)
        rows = np.frombuffer(content, self._dtype).reshape(stop - start, *self._shape)
        return rows.astype(self._dtype.newbyteorder("="), copy=False)


def check_size(path, header, nbytes, start, stop, zipped):
    """Raises DataError if the file cannot hold the records that its header announces."""
    size = files.size(path)
    if not zipped and header + stop * nbytes > size:
        raise cut_short(path, stop)
    if zipped and (stop - start) * nbytes > room(size):
        raise DataError(
            f"{path}: {size} bytes must be decompressed to at most {room(size)} at a time, got "
            f"{stop - start} records of {nbytes}; decompress the file first"
        )


def cut_short(path, stop):
    return DataError(f"{path}: is cut short, it must have records up to {stop}")


@contextmanager
def open_decompressed(path):
    """Opens a file, decompressing gzip."""
    with files.open(path) as file:
        zipped = file.read(len(GZIP)) == GZIP
        file.seek(0)
        with gzip.open(file) if zipped else nullcontext(file) as content:
            yield content


def _header(path, file):
    try:
        zeros, code, axes = struct.unpack(">HBB", file.read(4))
        shape = struct.unpack(f">{axes}I", file.read(4 * axes))
    except (struct.error, *DAMAGES):
        raise DataError(f"{path}: must be an IDX file, but is cut short") from None
    if zeros or code not in DTYPES or not 0 < axes <= MOST_AXES:
        raise DataError(f"{path}: must be an IDX file, but does not begin like one")
    if 0 in shape[1:]:
        raise DataError(f"{path}: records must have sizes of 1 or more, got {shape[1:]}")
    return np.dtype(DTYPES[code]), shape, 4 + 4 * axes
