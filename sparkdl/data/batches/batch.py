"""Batch of records, the output of every reader and the input of every replica."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkdl.errors import DataError

POSITION_BITS = 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Columns of equal length, with an id for each record.

    Parameters
    ----------
    columns : dict of str to ndarray (n, ...)
        Usually "features" and "labels"; the first axis is the record.
    ids : uint64 ndarray (n,)
        Identifies each record within its data set (`record_ids`), whichever worker reads it. The
        random numbers of a record, such as its dropout mask, depend on it.

    Raises
    ------
    DataError
        If the lengths differ.
    """

    columns: dict[str, np.ndarray]
    ids: np.ndarray

    def __post_init__(self) -> None:
        count = len(self.ids)
        for column in self.columns.values():
            if len(column) != count:
                self._refuse_lengths()

    def _refuse_lengths(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items()}
        raise DataError(f"columns need {len(self.ids)} records, one per id, got {lengths}")

    @classmethod
    def of(
        cls, features: Any, labels: Any = None, *, partition: int = 0, start: int = 0
    ) -> "Batch":
        """Makes a batch of features and labels, as records `start` and on of `partition`."""
        columns = {"features": features} if labels is None else _pair(features, labels)
        return cls(columns=columns, ids=record_ids(partition, start, len(features)))

    @classmethod
    def concat(cls, batches: "Iterable[Batch]") -> "Batch":
        """Concatenates the records of all batches, in order.

        The batches must have the same columns.
        """
        batches = list(batches)
        if not batches:
            raise DataError("concat needs at least one batch, got none")
        names = common_names(batches)
        if len(batches) == 1:
            return batches[0]
        columns = {name: np.concatenate([b.columns[name] for b in batches]) for name in names}
        return cls(columns=columns, ids=np.concatenate([b.ids for b in batches]))

    @property
    def features(self) -> Any:
        """Column "features", None if absent."""
        return self.columns.get("features")

    @property
    def labels(self) -> Any:
        """Column "labels", None if absent."""
        return self.columns.get("labels")

    @property
    def nbytes(self) -> int:
        """Bytes of all columns and ids."""
        return self.ids.nbytes + sum(column.nbytes for column in self.columns.values())

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, index: Any) -> "Batch":
        """Returns the records at `index`: views for a slice, copies for an array of positions."""
        columns = {name: column[index] for name, column in self.columns.items()}
        return Batch(columns=columns, ids=self.ids[index])

    def replace(self, **columns: Any) -> "Batch":
        """Returns a batch of these records, with some columns new or exchanged."""
        return Batch(columns=self.columns | columns, ids=self.ids)


def record_ids(partition: int, start: int, count: int) -> np.ndarray:
    """Returns ids (count,) uint64 of consecutive records: partition << 40 | position."""
    first = (int(partition) << POSITION_BITS) + int(start)
    return np.arange(first, first + count, dtype=np.uint64)


def position(record_id: int) -> int:
    """Returns a record's position in its partition, from its id."""
    return int(record_id) & ((1 << POSITION_BITS) - 1)


def require_plain(batch: Batch) -> None:
    """Raises DataError for a batch that has no features, or others than features and labels.

    Files of pairs have no place for weights, masks or several inputs.
    """
    names = list(batch.columns)
    if not {"features"} <= set(names) <= {"features", "labels"}:
        raise DataError(
            f"columns to write must be features, and labels if there are any, got {names}; write "
            "others with pyarrow or h5py, for DataFrames(columns=...) or HDF5(columns=...)"
        )


def _pair(features, labels):
    return {"features": features, "labels": labels}


def common_names(batches: "Sequence[Batch]") -> list[str]:
    """Returns the names of the batches' columns. Raises DataError if they differ."""
    names = list(batches[0].columns)
    for batch in batches:
        if set(batch.columns) != set(names):
            raise DataError(f"batches need the columns {names}, got {list(batch.columns)}")
    return names
