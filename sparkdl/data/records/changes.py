"""Changes of checked records where they are read: a part of them, weights by their classes."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from sparkdl.data.batches.batch import Batch

DIGEST = 8  # bytes of a record's hash


@dataclass(frozen=True, kw_only=True)
class PartByHash:
    """Keeps the records that are drawn, or all others.

    Each record is drawn by a hash of what it holds, and the seed: whoever reads the data, in
    whatever order and partitions, the same are drawn, and equal records stay together.

    Parameters
    ----------
    share : float
        Chance of a record to be drawn.
    seed : int
    columns : tuple of str
        Features and labels, which a record is known by; those that a batch lacks do not count.
    drawn : bool
        Whether those that are drawn are kept.
    """

    share: float
    seed: int
    columns: tuple[str, ...]
    drawn: bool

    def __call__(self, batch: Batch) -> Batch:
        drawn = self._numbers(batch) < self.share
        return batch.take(np.flatnonzero(drawn == self.drawn))

    def _numbers(self, batch):
        """Returns a number in [0, 1) for each record."""
        columns = [
            np.ascontiguousarray(batch.columns[n]) for n in self.columns if n in batch.columns
        ]
        start, digests = blake2b(str(self.seed).encode(), digest_size=DIGEST), bytearray()
        for row in range(len(batch)):
            record = start.copy()
            for column in columns:
                record.update(column[row].tobytes())
            digests += record.digest()
        return np.frombuffer(bytes(digests), "<u8") / 2.0**64


@dataclass(frozen=True, kw_only=True)
class ClassWeights:
    """Multiplies the weights of records, 1 unless they have some, by factors of their classes.

    Parameters
    ----------
    column : str
        Of the classes, one for each record: (n,), or (n, 1) of a yes or no.
    factors : tuple of float
        Of each class; labels that are none of them have 1.
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
