"""Records of several batches by their position among all records."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from sparkdl.data.batches.batch import Batch


class RandomAccess:
    """Takes records from batches with the same columns, as if they were one.

    Parameters
    ----------
    batches : list of Batch
    """

    def __init__(self, batches: Sequence[Batch]) -> None:
        self.batches, self._ends = batches, list(accumulate(map(len, batches)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def take(self, rows: np.ndarray) -> Batch:
        """Returns the records at these ascending positions, one or more, as a copy."""
        bounds = np.searchsorted(rows, self._ends)
        pieces, start = [], 0
        for batch, end, stop in zip(self.batches, self._ends, bounds, strict=True):
            if stop > start:
                pieces.append(batch.take(rows[start:stop] - (end - len(batch))))
            start = stop
        return Batch.concat(pieces)
