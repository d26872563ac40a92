"""First records of a source, on which Caffe tests."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from sparkdl.data.batches.blocks import blocks
from sparkdl.data.source import Split


@dataclass(frozen=True, kw_only=True)
class Head(Split):
    """A split limited to its first `count` records; None: all."""

    split: Any

    def __str__(self):
        return str(self.split)

    def spans(self):
        return self.split.spans()


@dataclass(frozen=True)
class FirstRecords:
    """A source of the first records of another source, in batches, as Caffe uses for tests.

    If the number of records in the other's splits is unknown, all are read.

    Parameters
    ----------
    source : Source
    count : int
        Number of records.
    size : int
        Records per batch; the last batch of a split may be smaller.
    """

    source: Any
    count: int
    size: int

    @property
    def transform(self):
        return self.source.transform

    @property
    def read(self):
        return partial(head_batches, self.source.read, self.size)

    def splits(self):
        splits, left = [], self.count
        for number, split in enumerate(self.source.splits()):
            if left is not None and left <= 0:
                break
            left = None if left is None or split.count is None else left
            count = None if left is None else min(left, split.count)
            splits.append(Head(partition=number, count=count, split=split))
            left = None if left is None else left - count
        return splits


def head_batches(read, size, head):
    """Yields the Batches of a Head."""
    left = head.count
    for batch in blocks(read(head.split), size):
        if left is not None and len(batch) >= left:
            yield batch.take(slice(0, left))
            return
        yield batch
        left = None if left is None else left - len(batch)
