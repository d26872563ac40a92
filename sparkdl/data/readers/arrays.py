"""Arrays in the driver's memory as a source."""

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import numpy as np

from sparkdl.data.batch import Batch, record_ids
from sparkdl.data.source import Split, split_bounds
from sparkdl.errors import DataError, require


@dataclass(frozen=True, kw_only=True, eq=False)
class Slice(Split):
    """A few records of an array, themselves."""

    data: Batch = field(repr=False)

    def __str__(self):
        return f"arrays, partition {self.partition}"


@dataclass(frozen=True, eq=False)
class Arrays:
    """Features and labels in memory; each executor is sent what it reads.

    Parameters
    ----------
    features : ndarray (n, ...), or {column: ndarray}
        Where a network has several inputs, those by their names; also "mask" and "weights".
    labels : ndarray (n,) or (n, ...), {column: ndarray}, or None
    records_per_split : int or None
        None: 256, or more where that made over 4,096 splits.
    transform : callable or None
        Batch to Batch, applied to each minibatch.
    """

    features: np.ndarray | dict = field(repr=False)
    labels: np.ndarray | dict | None = field(default=None, repr=False)
    _: KW_ONLY
    records_per_split: int | None = None
    transform: object = None

    def __post_init__(self):
        require(self, "records_per_split", (self.records_per_split or 1) >= 1, "at least 1 or None")
        for name in ("features", "labels"):
            object.__setattr__(self, name, as_arrays(getattr(self, name)))
        count = self._count
        for name, column in self.columns.items():
            if len(column) != count:
                text = f"arrays of {count} features need as many {name}, got {len(column)}"
                raise DataError(text)

    @classmethod
    def of(cls, batch, **options):
        """The records of a batch."""
        if set(batch.columns) <= {"features", "labels"}:
            return cls(batch.features, batch.labels, **options)
        rest = {name: column for name, column in batch.columns.items() if name != "labels"}
        return cls(rest, batch.labels, **options)

    @cached_property
    def columns(self):
        """{column: ndarray}"""
        features = self.features if isinstance(self.features, dict) else {"features": self.features}
        labels = self.labels if isinstance(self.labels, dict) else {"labels": self.labels}
        return features if self.labels is None else features | labels

    def splits(self):
        """One slice after the other."""
        bounds = split_bounds(self._count, self.records_per_split)
        return [self._slice(partition, *bound) for partition, bound in enumerate(bounds)]

    @staticmethod
    def read(split):
        """The records of a slice. Static, so that the arrays stay where they are."""
        yield split.data

    @property
    def _count(self):
        return len(next(iter(self.columns.values())))

    def _slice(self, partition, start, stop):
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        data = Batch(columns=columns, ids=record_ids(partition, 0, stop - start))
        return Slice(partition=partition, count=stop - start, data=data)


def as_arrays(given):
    """An array, or {column: array}."""
    if given is None:
        return None
    if isinstance(given, dict):
        return {name: np.asarray(column) for name, column in given.items()}
    return np.asarray(given)
