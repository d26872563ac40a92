"""Changes of checked records where they are read: a part of them, weights by their classes."""

from dataclasses import dataclass

import numpy as np

from sparkdl import philox
from sparkdl.data.batches.batch import Batch

STREAM = (1 << 32) - 1  # of random numbers; layers and transforms have others


@dataclass(frozen=True, kw_only=True)
class PartByLot:
    """Keeps the records that are drawn, or all others.

    Each record is drawn by its id, that is partition and position in it, and the seed: whoever
    reads the data, and however, the same are drawn.

    Parameters
    ----------
    share : float
        Chance of a record to be drawn.
    seed : int
    drawn : bool
        Whether those that are drawn are kept.
    """

    share: float
    seed: int
    drawn: bool

    def __call__(self, batch: Batch) -> Batch:
        numbers = philox.uniform(batch.ids, 0, 1, self.seed, STREAM)[:, 0]
        return batch.take(np.flatnonzero((numbers < self.share) == self.drawn))


@dataclass(frozen=True, kw_only=True)
class ClassWeights:
    """Multiplies the weights of records, 1 unless they have some, by factors of their classes.

    Parameters
    ----------
    column : str
        Of the classes, one for each record.
    factors : tuple of float
        Of each class; labels that are none of them have 1.
    """

    column: str
    factors: tuple[float, ...]

    def __call__(self, batch: Batch) -> Batch:
        classes = batch.columns[self.column]
        known = (classes >= 0) & (classes < len(self.factors))
        factors = np.asarray(self.factors, np.float32)[np.where(known, classes, 0)]
        weights = np.where(known, factors, np.float32(1))
        return batch.replace(weights=weights * batch.columns.get("weights", np.float32(1)))
