"""Arrays in the driver's memory as a source."""

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from sparkdl.data.batch import Batch
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
    features : ndarray (n, ...)
    labels : ndarray (n,) or (n, values), or None
    records_per_split : int or None
        None: 256, or more where that made over 4,096 splits.
    transform : callable or None
        Batch to Batch, applied to each minibatch.
    """

    features: np.ndarray = field(repr=False)
    labels: np.ndarray | None = field(default=None, repr=False)
    _: KW_ONLY
    records_per_split: int | None = None
    transform: object = None

    def __post_init__(self):
        require(self, "records_per_split", (self.records_per_split or 1) >= 1, "at least 1 or None")
        object.__setattr__(self, "features", np.asarray(self.features))
        if self.labels is None:
            return
        object.__setattr__(self, "labels", np.asarray(self.labels))
        if len(self.labels) != len(self.features):
            raise DataError(
                f"arrays of {len(self.features)} features need as many labels, "
                f"got {len(self.labels)}"
            )

    @classmethod
    def of(cls, batch, **options):
        """The features and labels of a batch."""
        return cls(batch.features, batch.labels, **options)

    def splits(self):
        """One slice after the other."""
        bounds = split_bounds(len(self.features), self.records_per_split)
        return [self._slice(partition, *bound) for partition, bound in enumerate(bounds)]

    @staticmethod
    def read(split):
        """The records of a slice. Static, so that the arrays stay where they are."""
        yield split.data

    def _slice(self, partition, start, stop):
        labels = None if self.labels is None else self.labels[start:stop]
        data = Batch.of(self.features[start:stop], labels, partition=partition)
        return Slice(partition=partition, count=stop - start, data=data)
