"""Changes of checked records as they are read: selection of a part, class weights."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from sparkdl.data.batches.batch import Batch

DIGEST = 8  # bytes of a record's hash


@dataclass(frozen=True, kw_only=True)
class PartByHash:
    """Keeps the drawn records, or all others.

    Records are drawn by a hash of their numbers and the seed. So the same ones are drawn whatever
    the reader, type, order and partitions, and equal records stay together.

    Parameters
    ----------
    share : float
        Probability that a record is drawn.
    seed : int
    columns : tuple of str
        Columns of features and labels to hash; those missing from a batch are skipped.
    drawn : bool
        Whether to keep the drawn records.
    """

    share: float
    seed: int
    columns: tuple[str, ...]
    drawn: bool

    def __call__(self, batch: Batch) -> Batch:
        drawn = self._numbers(batch) < self.share
        return batch.take(np.flatnonzero(drawn == self.drawn))

    def _numbers(self, batch):
        """Returns a pseudo-random number in [0, 1) for each record."""
        columns = [
            np.ascontiguousarray(batch.columns[n]) for n in self.columns if n in batch.columns
        ]
        start, digests = blake2b(str(self.seed).encode(), digest_size=DIGEST), bytearray()
        for row in range(len(batch)):
            record = start.copy()
            for column in columns:
                record.update(_as_hashed(column[row]).tobytes())
            digests += record.digest()
        return np.frombuffer(bytes(digests), "<u8") / 2.0**64


def _as_hashed(x):
    """Returns the numbers of a column of one record; equal ones have the same bytes."""
    if x.dtype != np.uint8 and x.dtype.kind != "f":
        return x
    return x.astype(np.float32, copy=False) + np.float32(0)  # which makes -0.0 to 0.0


@dataclass(frozen=True, kw_only=True)
class ClassWeights:
    """Multiplies the weights of records (default 1) by factors of their classes.

    Parameters
    ----------
    column : str
        Column of one class per record: (n,), or (n, 1) if binary.
    factors : tuple of float
        Factor of each class; other labels have factor 1.
    """

    column: str
    factors: tuple[float, ...]

    def __call__(self, batch: Batch) -> Batch:
        labels = batch.columns[self.column].reshape(len(batch))
        known = np.isin(labels, np.arange(len(self.factors)))
        classes = np.where(known, labels, 0).astype(np.int64)
        factors = np.asarray(self.factors, np.float32)[classes]
        weights = np.where(known, factors, np.float32(1))
        return batch.replace(weights=weights * batch.columns.get("weights", np.float32(1)))
