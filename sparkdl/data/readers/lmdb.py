"""LMDB databases of Caffe's Datum messages."""

from dataclasses import KW_ONLY, dataclass
from itertools import islice

from sparkdl.data.files import local_path
from sparkdl.data.readers.chunks import chunk_batch, chunks
from sparkdl.data.readers.datum import decode
from sparkdl.data.readers.environment import reading
from sparkdl.data.readers.images import require_size
from sparkdl.data.source import Split, split_bounds
from sparkdl.data.transforms import Compose, Scale, Transform, in_order
from sparkdl.errors import DataError, require


@dataclass(frozen=True, kw_only=True)
class KeyRange(Split):
    """The records from key `first` up to, not including, key `stop` (None: to the end)."""

    path: str
    first: bytes
    stop: bytes | None

    def __str__(self):
        return f"{self.path} from key {self.first.decode(errors='backslashreplace')}"


@dataclass(frozen=True)
class LMDB:
    """A database of Caffe Datums, read by the executors from their own disks.

    Parameters
    ----------
    path : str
        The folder of data.mdb, or a file like it; the same on every machine.
    transforms : sequence of Transform
        What is done to a minibatch, such as (Crop(size=224), Mirror()).
    scale, mean : float, tuple of float
        Then features become (x - mean) * scale; see `Scale`.
    size : int, pair of int, or None
        Height and width that images are resized to, bilinearly; encoded ones may differ in size.
    records_per_split : int or None
        None: 256, or more where that made over 4,096 splits.
    """

    path: str
    _: KW_ONLY
    transforms: tuple[Transform, ...] = ()
    scale: float = 1.0
    mean: tuple[float, ...] = ()
    size: int | tuple[int, int] | None = None
    records_per_split: int | None = None

    def __post_init__(self):
        require(self, "records_per_split", (self.records_per_split or 1) >= 1, "at least 1 or None")
        require_size(self)
        checked = Scale(factor=self.scale, mean=self.mean)
        object.__setattr__(self, "mean", checked.mean)
        object.__setattr__(self, "transforms", Compose(self.transforms).transforms)

    @property
    def transform(self):
        """All that is asked for as one transform, or None."""
        return in_order(self.transforms, Scale(factor=self.scale, mean=self.mean))

    def splits(self):
        """Key ranges. Values are not read; keys are, unless they are consecutive numbers."""
        path = local_path(self.path)
        with reading(path) as transaction:
            count = transaction.stat()["entries"]
            if count == 0:
                raise DataError(f"{path}: must hold records, but the LMDB is empty")
            bounds = split_bounds(count, self.records_per_split)
            firsts = _first_keys(transaction.cursor(), count, bounds)
        return [
            KeyRange(partition=i, count=stop - start, path=path, first=first, stop=following)
            for i, ((start, stop), first, following) in enumerate(
                zip(bounds, firsts, [*firsts[1:], None], strict=True)
            )
        ]

    def read(self, split):
        """Batches of a few megabytes: features uint8 or float32 (n, C, H, W), labels int32."""
        with reading(split.path) as transaction:
            cursor, start = transaction.cursor(), 0
            for values in chunks(_values(cursor, split)):
                yield chunk_batch(split, start, values, self._columns)
                start += len(values)
            _check_end(cursor, split, start)

    def _columns(self, values):
        features, labels = decode(values, self.size)
        return {"features": features, "labels": labels}


def _first_keys(cursor, count, bounds):
    """The key at the start of each (start, stop)."""
    cursor.last()
    last = bytes(cursor.key())
    cursor.first()
    first = bytes(cursor.key())
    if _consecutive(first, last, count):
        return [b"%0*d" % (len(first), int(first) + start) for start, _ in bounds]
    step = bounds[0][1]
    keys = islice(cursor.iternext(keys=True, values=False), 0, None, step)
    return [bytes(key) for key in keys]


def _consecutive(first, last, count):
    """Whether the keys are numbers of one width without gaps, as Caffe's tools write them."""
    digits = first.isdigit() and last.isdigit() and len(first) == len(last)
    return digits and int(last) - int(first) + 1 == count


def _values(cursor, split):
    if not cursor.set_range(split.first) or cursor.key() != split.first:
        raise DataError(f"{split}: this key is missing; was the LMDB changed since it was listed?")
    return islice(cursor.iternext(keys=False, values=True), split.count)


def _check_end(cursor, split, count):
    following = bytes(cursor.key()) if cursor.next() else None
    if count != split.count or following != split.stop:
        raise DataError(
            f"{split}: must have {split.count} records up to key {split.stop!r}, got {count} up to "
            f"{following!r}; was the LMDB changed since it was listed?"
        )
