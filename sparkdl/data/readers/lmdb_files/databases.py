"""Reader of LMDB databases of Caffe's Datum messages."""

import os
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

from sparkdl.config import Boolean, Either, Integer, Path, Sequence, Sizes, dataclass, option
from sparkdl.config.field_types import OptionalTwoSizes, PathNames
from sparkdl.data import files
from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.core.base import Reader, SplitByRecords, StoredSource
from sparkdl.data.readers.core.chunks import chunk_batch, view_chunks
from sparkdl.data.readers.core.file_ranges import SMALLEST_RANGE
from sparkdl.data.readers.encodings.datum import decode
from sparkdl.data.readers.encodings.image_codec import EXIF_ORIENTATION
from sparkdl.data.readers.lmdb_files.environment import CURE, data_file, reading, remote_file
from sparkdl.data.readers.lmdb_files.file_layout import LONGEST_KEY, NODE
from sparkdl.data.readers.lmdb_files.remote_keys import ends, first_value
from sparkdl.data.source import SMALLEST_SPLIT, Split, split_bounds
from sparkdl.errors import DataError

SMALLEST_RECORD = NODE.size  # bytes


@dataclass(frozen=True, kw_only=True)
class KeyRange(Split):
    """The records from key `first` to key `stop` (exclusive; None: to the end)."""

    path: str
    first: bytes
    stop: bytes | None

    def __str__(self) -> str:
        return f"{self.path} from key {self.first.decode(errors='backslashreplace')}"


@dataclass(frozen=True, kw_only=True)
class LMDB(StoredSource, Reader, SplitByRecords):
    """A database of Caffe Datums, or several, read by the executors from their own disks.

    A database on another file system is copied to each host once; see sparkdl.data.host_copy.
    """

    path: PathNames = option(  # type: ignore[assignment]
        Either(of=(Path(), Sequence(of=Path(), minimum=1))),
        "The folder of data.mdb, or a file like it; a URI, or a path that is the same on every "
        "machine. Several are read one after the other.",
        kw_only=False,
    )
    size: OptionalTwoSizes = option(
        Sizes(axes=2, spread=True),
        "Height and width to which images are resized, bilinearly; encoded images may differ in "
        "size.",
        default=None,
    )
    exif_orientation: bool = option(Boolean(), EXIF_ORIENTATION, default=False)
    records_per_split: int | None = option(
        Integer(minimum=1),
        "Records of a split. None: 256, or as many as fit into 1 MiB, or more if that would give "
        "over 4,096 splits.",
        default=None,
    )

    @property
    def paths(self) -> Collection[str]:  # type: ignore[override]
        """All of them."""
        return (self.path,) if isinstance(self.path, str) else self.path

    def splits(self) -> list[Split]:
        """Returns key ranges. Values are not read; keys are, unless they are consecutive numbers.

        Of an LMDB on another file system a few pages are read; it is copied here only where keys
        are not consecutive numbers.
        """
        ranges = [piece for path in self.paths for piece in self._pieces(path)]
        return [KeyRange(partition=i, **piece) for i, piece in enumerate(ranges)]

    def _pieces(self, path):
        path = files.absolute(path)
        count, first, last = find_ends(path)
        if count == 0:
            raise DataError(f"{path}: must hold records, but the LMDB is empty")
        bounds = split_bounds(count, self.records_per_split, smallest_split(path, count))
        if _consecutive(first, last, count):
            firsts = [b"%0*d" % (len(first), int(first) + start) for start, _ in bounds]
        else:
            firsts = _first_keys(path, bounds[0][1])
        if len(firsts) != len(bounds):
            raise DataError(f"{path}: must have {count} records, as it says; {CURE}")
        ends = zip(bounds, firsts, [*firsts[1:], None], strict=True)
        return [
            {"count": stop - start, "path": path, "first": first, "stop": following}
            for (start, stop), first, following in ends
        ]

    def read(self, split: Any) -> Iterator[Batch]:
        """Yields Batches of a few megabytes: uint8 or float32 (n, C, H, W), labels int32."""
        with reading(split.path, split.first, split.stop) as transaction:
            cursor, start = transaction.cursor(), 0
            for values in view_chunks(_values(cursor, split)):
                yield chunk_batch(split, start, values, self._columns)
                start += len(values)
            _check_end(cursor, split, start)

    def names(self, split: Any) -> Collection[str]:
        """Returns the keys of the records of a split, as text."""
        with reading(split.path, split.first, split.stop) as transaction:
            cursor = transaction.cursor()
            _seek(cursor, split)
            keys = islice(cursor.iternext(keys=True, values=False), split.count)
            return [bytes(key).decode(errors="backslashreplace") for key in keys]

    def _columns(self, values):
        features, labels = decode(values, self.size, self.exif_orientation)
        return {"features": features, "labels": labels}


def smallest_split(path, count):
    """Returns the smallest number of records worth opening the file for.

    Opening it takes as long as reading 200 KB. Raises DataError if `count` do not fit into it.
    """
    nbytes = (
        os.path.getsize(data_file(path)) if files.is_local(path) else files.size(remote_file(path))
    )
    if count > nbytes // SMALLEST_RECORD:
        raise DataError(f"{path}: {nbytes} bytes cannot hold its {count} records; {CURE}")
    return max(SMALLEST_SPLIT, count * SMALLEST_RANGE // nbytes)


def find_ends(path):
    """Returns (number of records, first key, last key)."""
    if not files.is_local(path):
        return ends(path, remote_file(path))
    with reading(path, ends=True) as transaction:
        count, cursor = transaction.stat()["entries"], transaction.cursor()
        if count == 0:
            return 0, None, None
        cursor.last()
        last = bytes(cursor.key())
        cursor.first()
        return count, bytes(cursor.key()), last


def first_image(path):
    """Returns the first record's image (C, H, W), or None without records; copies no remote file.

    Raises
    ------
    DataError
        If there is no such LMDB, it is damaged, or the record is not a Datum.
    """
    if files.is_local(path):
        with reading(path, ends=True) as transaction:
            cursor = transaction.cursor()
            value = bytes(cursor.value()) if cursor.first() else None
    else:
        value = first_value(path, remote_file(path))
    if value is None:
        return None
    try:
        images, _ = decode([memoryview(value)])
    except Violation as offence:
        raise DataError(f"{path}, first record: {offence}") from None
    return images[0]


def _first_keys(path, step):
    """Returns the first key and every `step`-th key after it."""
    with reading(path) as transaction:
        keys = transaction.cursor().iternext(keys=True, values=False)
        return [bytes(key) for key in islice(keys, 0, None, step)]


def _consecutive(first, last, count):
    """Returns whether keys are consecutive numbers of equal width, as Caffe's tools write them."""
    digits = first.isdigit() and last.isdigit() and len(first) == len(last) <= LONGEST_KEY
    return digits and int(last) - int(first) + 1 == count


def _values(cursor, split):
    _seek(cursor, split)
    return islice(cursor.iternext(keys=False, values=True), split.count)


def _seek(cursor, split):
    """Moves the cursor to the first record of a split."""
    if not cursor.set_range(split.first) or cursor.key() != split.first:
        raise DataError(f"{split}: this key is missing; was the LMDB changed since it was listed?")


def _check_end(cursor, split, count):
    following = bytes(cursor.key()) if cursor.next() else None
    if count != split.count or following != split.stop:
        raise DataError(
            f"{split}: must have {split.count} records up to key {split.stop!r}, got {count} up to "
            f"{following!r}; was the LMDB changed since it was listed?"
        )
