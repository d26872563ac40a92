"""Source of arrays in the driver's memory."""

import hashlib
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import Any, Self

import numpy as np

from sparkdl.config import Requirement, dataclass, option
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.readers.core.base import Reader, SplitByRecords
from sparkdl.data.source import Split, is_own_class, split_bounds
from sparkdl.errors import DataError

MOST_AXES, MOST_NUMBERS = 32, 2**31  # limits for lists
SPLIT_BYTES = 2**26  # Spark sends a split with its task, of up to 128 MiB by default


@dataclass(frozen=True, kw_only=True)
class ArrayRange(Split):
    """Some records of an array, carried in the split itself."""

    data: Batch = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"arrays, partition {self.partition}"


@dataclass(frozen=True, kw_only=True)
class Columns(Requirement):
    """An array of numbers, or a dict of such columns by name."""

    phrase = "an array (n, ...), or {column: array}"
    plural = "arrays or dicts of arrays"

    def check(self, value, where):
        if not isinstance(value, dict):
            return self.array(value, where)
        if not value or not all(isinstance(name, str) for name in value):
            self.refuse(value, where)
        return {name: self.array(column, f"{where}[{name!r}]") for name, column in value.items()}

    def array(self, value, where):
        """Converts `value` to an array of at least one axis."""
        if not is_array(value):
            self.refuse(value, where)
        if has_hidden(value):
            self.refuse(value, where, "some numbers are masked: filled(0), say, fills them in")
        try:
            array = np.asarray(value)
        except ValueError:  # lists of different lengths
            self.refuse(value, where)
        if not array.ndim:  # numpy makes an object of a sparse matrix
            self.refuse(value, where, "toarray() makes one of a sparse matrix")
        return array


@dataclass(frozen=True, kw_only=True)
class Arrays(Reader, SplitByRecords):
    """Features and labels in memory; each executor receives only what it reads.

    By default a split has at most 64 MiB, unless a record is larger.
    """

    features: np.ndarray | dict = option(
        Columns(),
        'Array of features, or arrays by name for a network of several inputs; also "mask" and '
        '"weights", or "size_weights" for those of the output "size", of several. Weights of labels'
        " that the network does not have are refused, other unknown columns are left out.",
        kw_only=False,
        repr=False,
    )
    labels: np.ndarray | dict | None = option(
        Columns(),
        "Labels, one for each record. None: no labels.",
        default=None,
        kw_only=False,
        repr=False,
    )

    def validate(self) -> None:
        super().validate()
        count = self._count
        for name, column in self.columns.items():
            if len(column) != count:
                text = f"arrays of {count} features need as many {name}, got {len(column)}"
                raise DataError(text)

    @classmethod
    def of(cls, batch: Batch, **options: Any) -> Self:
        """Returns a source of the records of a batch."""
        if set(batch.columns) <= {"features", "labels"}:
            return cls(batch.features, batch.labels, **options)
        rest = {name: column for name, column in batch.columns.items() if name != "labels"}
        return cls(rest, batch.labels, **options)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """{column: ndarray}"""
        features = self.features if isinstance(self.features, dict) else {"features": self.features}
        labels = self.labels if isinstance(self.labels, dict) else {"labels": self.labels}
        return features if self.labels is None else features | labels

    def splits(self) -> list[Split]:
        """Returns a split for each slice."""
        each = sum(column.nbytes for column in self.columns.values()) // max(1, self._count)
        largest = max(1, SPLIT_BYTES // max(1, each))
        bounds = split_bounds(self._count, self.records_per_split, largest=largest)
        return [self._slice(partition, *bound) for partition, bound in enumerate(bounds)]

    def identity(self) -> Any:
        """Returns options and a digest of the arrays' content; see Source.identity.

        An array may be modified in place, so its identity is not enough.
        """
        objects = any(column.dtype.hasobject for column in self.columns.values())
        if objects or not is_own_class(self):
            return None
        columns = [(name, *describe(column)) for name, column in self.columns.items()]
        return type(self), self.records_per_split, columns

    @staticmethod
    def read(split: Any) -> Iterator[Batch]:
        """Yields the records of a slice. Static, so that the arrays stay where they are."""
        yield split.data

    @property
    def _count(self) -> int:
        return len(next(iter(self.columns.values())))

    def _slice(self, partition, start, stop):
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        data = Batch(columns=columns, ids=record_ids(partition, 0, stop - start))
        return ArrayRange(partition=partition, count=stop - start, data=data)


def describe(array):
    """Returns dtype, shape and digest of an array."""
    data = np.ascontiguousarray(array)
    return array.dtype.str, array.shape, hashlib.sha256(data.reshape(-1).view(np.uint8)).digest()


def has_hidden(value):
    """Returns whether an array, or one of nested lists, is masked: numpy takes what is beneath."""
    if isinstance(value, list | tuple):
        of_arrays = bool(value) and isinstance(value[0], list | tuple | np.ndarray)
        return of_arrays and any(map(has_hidden, value))
    return np.ma.is_masked(value)


def is_array(value):
    """Returns whether `value` is an array, or nested lists that may become one.

    Checks the size of lists before they are copied.
    """
    if isinstance(value, np.ndarray) or not isinstance(value, list | tuple):
        return len(getattr(value, "shape", ())) > 0
    count, axes = 1, 0
    while isinstance(value, list | tuple) and value:
        count, axes, value = count * len(value), axes + 1, value[0]
        if axes > MOST_AXES or count > MOST_NUMBERS:
            return False
    return True
