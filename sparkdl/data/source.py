"""Bases of data sources, which executors read directly."""

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, ClassVar

from sparkdl.config import FrozenFields, Member, dataclass
from sparkdl.data.batches.batch import Batch
from sparkdl.data.records.label_facts import check_labels, facts_of
from sparkdl.errors import NoRecords

SMALLEST_SPLIT = 256
MOST_SPLITS = 4096


@dataclass(frozen=True, kw_only=True)
class Split(FrozenFields):
    """A part of a source that is read in one piece; small, as the driver sends it to an executor.

    Parameters
    ----------
    partition : int
        Index of the split in its source; the first part of its records' ids.
    count : int or None
        Number of records; None if it is unknown without reading them.
    """

    partition: int
    count: int | None

    def spans(self) -> list[tuple[str, int, int | None]]:
        """Returns the byte ranges that it reads, [(path, start, stop)]; None stops at a file's end.

        They are used to assign it to a host that has the data. Empty if no host is nearer: for data
        in memory, or files that every host copies or that may be anywhere.
        """
        return []


@dataclass(frozen=True, kw_only=True)
class Source(Member, package="sparkdl.data"):
    """A data set that is listed on the driver and read on executors.

    Executors receive `source.read` and `source.transform`, never the source itself: `read` of a
    source that holds its data in memory leaves the data behind.

    `transform` is a function Batch to Batch that the worker applies to each minibatch, or None.
    Blocks keep records as they were stored (uint8 stays uint8), so scaling belongs here. A
    transform from sparkdl.data.transforms also tells training from inference and knows the shape
    that records must have; a plain function does neither.

    Any object with `splits`, `read` and `transform` serves as a source too, but has no name in
    configurations.
    """

    paths: ClassVar[tuple[str, ...]] = ()
    may_be_mapped: ClassVar[bool] = False  # whether programs change such files in mapped memory

    def check(self) -> None:
        """Raises DataError if the data does not exist; reads none of it."""

    def splits(self) -> list[Split]:
        """Returns all splits, in order, using only metadata. Runs on the driver."""
        raise NotImplementedError

    def identity(self) -> Any:
        """Returns a value that two sources share only if they have the same records.

        None: unknown, so each fit reads the records again. A user's class inherits no identity, as
        its records may depend on more than the options and files of its base.
        """
        return None

    def read_options(self) -> dict[str, Any]:
        """Returns the options on which stored records depend: all but the transform."""
        names = [item.name for item in fields(self) if item.name != "transform"]
        return {name: getattr(self, name) for name in names}

    def read(self, split: Split) -> Iterator[Batch]:
        """Returns the records of a split as they are stored. Runs on an executor."""
        raise NotImplementedError


def is_own_class(source):
    """Returns whether a source's class is part of sparkdl, not derived by a user."""
    return type(source).__module__.startswith("sparkdl.data.")


def check_batches(read, split, schema):
    """Yields the checked Batches of a split, as a network with this schema takes them.

    Raises
    ------
    DataError
        For the first record that does not fit; names file, place and record.
    """
    for batch in read(split):
        checked = schema.check(batch, str(split))
        if len(checked):
            yield checked


def read_splits(source, schema):
    """Returns lists of the checked Batches of each split of a source.

    Raises
    ------
    NoRecords
        Where no split has any, or none has a weight above 0.
    """
    parts = [list(check_batches(source.read, split, schema)) for split in source.splits()]
    if not any(parts):
        raise NoRecords("there are no records to train on")
    check_labels(schema, (facts_of(schema, part) for part in parts))
    return parts


def split_bounds(count, records_per_split=None, smallest=SMALLEST_SPLIT, largest=None):
    """Returns (start, stop) pairs that cut `count` records into splits.

    Splits are small, so that workers get nearly equal shares, unless there would be too many; but
    no larger than `largest`.
    """
    size = max(smallest, math.ceil(count / MOST_SPLITS))
    size = records_per_split or min(size, largest or size)
    return [(start, min(start + size, count)) for start in range(0, count, size)]
