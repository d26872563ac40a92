"""Exact counts of each distinct score, up to a limit."""

import numpy as np

from sparkdl.training.evaluation.packed_counts import narrow, widen
from sparkdl.training.evaluation.row_blocks import blocks_of

LIMIT = 2**22  # distinct scores of all columns together: 100 MB, a quarter of that when sent
CELLS = 2**27  # most limit times columns: with many columns bins take over before much is sorted
FIRST = 2**16  # entries collected before the first sort
FIELDS = ("column", "score", "positive", "negative")
TYPES = (np.int32, np.float64, np.int64, np.int64)  # counts of weighted examples: float64


class DistinctScores:
    """Counts of each distinct score among positives and among negatives, per column.

    Entries are sorted by column and score. Beyond `limit` distinct scores all are dropped; whether
    this happens depends only on the set of scores, not on their order.
    """

    def __init__(self, limit=LIMIT):
        self.limit, self._exceeded = limit, limit == 0
        self._entries = tuple(np.zeros(0, kind) for kind in TYPES)
        self._waiting, self._number = [], 0

    @property
    def is_exceeded(self) -> bool:
        """True if there were more than `limit` distinct scores."""
        self.entries()
        return self._exceeded

    @property
    def nbytes(self) -> int:
        """Bytes of all entries."""
        return sum(array.nbytes for array in self.entries())

    def add(self, scores, truth, weights=None):
        """Counts `scores` (n, columns) with `truth` (n, columns) of bools; `weights` are (n,)."""
        enough = max(FIRST, self.limit + scores.shape[1])  # distinct ones exceed the limit
        for part in blocks_of(scores.shape, enough):
            if self._exceeded:
                return
            self._add(scores[part], truth[part], None if weights is None else weights[part])

    def __add__(self, other):
        result = DistinctScores(self.limit)
        if self.is_exceeded or other.is_exceeded:
            result._drop()
        else:
            result._take(*self.entries())
            result._take(*other.entries())
        return result

    def entries(self):
        """Returns the arrays of `FIELDS`."""
        if self._waiting:
            parts = zip(self._entries, *self._waiting, strict=True)
            self._entries = merge_entries(*(np.concatenate(part) for part in parts))
            self._waiting, self._number = [], 0
        if len(self._entries[0]) > self.limit:
            self._drop()
        return self._entries

    def of(self, column):
        """Returns score, positive, negative of one column, in ascending order of scores."""
        columns, *rest = self.entries()
        part = slice(*np.searchsorted(columns, [column, column + 1]))
        return tuple(array[part] for array in rest)

    def arrays(self):
        """Returns the counts, each array in its smallest lossless type."""
        return [np.array([self.is_exceeded], np.int64), *map(narrow, self.entries())]

    def with_arrays(self, arrays):
        """Returns a DistinctScores with this limit from the result of `arrays`.

        Raises ValueError if they do not fit.
        """
        flag, *entries = arrays
        kinds = "".join(array.dtype.kind for array in entries)
        sound = len({array.shape for array in entries}) == 1 and kinds in ("ifii", "ifff")
        if not sound or flag.shape != (1,) or entries[0].ndim != 1:
            raise ValueError("four arrays of one length")
        result = DistinctScores(self.limit)
        column, score, *counts = entries
        result._entries = column.astype(np.int32), score.astype(np.float64), *map(widen, counts)
        if flag[0]:
            result._drop()
        return result

    def __getstate__(self):
        return {"limit": self.limit, "arrays": self.arrays()}

    def __setstate__(self, state):
        self.__init__(state["limit"])
        self.__dict__ = self.with_arrays(state["arrays"]).__dict__

    def _add(self, scores, truth, weights):
        column = np.tile(np.arange(scores.shape[1], dtype=np.int32), len(scores))
        positive = truth.reshape(-1).astype(np.int64)
        counts = positive, 1 - positive
        if weights is not None:
            counts = (count * np.repeat(weights, truth.shape[1]) for count in counts)
        self._take(column, scores.reshape(-1).astype(np.float64), *counts)

    def _take(self, *entries):
        self._waiting.append(entries)
        self._number += len(entries[0])
        if self._number > max(FIRST, len(self._entries[0])):
            self.entries()

    def _drop(self):
        self.__init__(0)


def limit_for(columns):
    """Returns the default limit of distinct scores."""
    return min(LIMIT, CELLS // columns)


def merge_entries(column, score, positive, negative):
    """Returns the entries sorted by column and score, with duplicates summed."""
    order = in_order(column, score)
    column, score = column[order], score[order]
    new = np.ones(len(order), bool)
    new[1:] = (column[1:] != column[:-1]) | (score[1:] != score[:-1])
    first = np.flatnonzero(new)
    if not len(first):
        return column, score, positive, negative
    counts = (np.add.reduceat(array[order], first) for array in (positive, negative))
    return column[first], score[first], *counts


def in_order(column, score):
    """Returns indices that sort by column, then score: like np.lexsort, but much faster."""
    order = np.argsort(score)
    columns = column[order]
    if len(columns) and columns.max() < 2**16:
        columns = columns.astype(np.uint16)  # numpy uses radix sort for these
    return order[np.argsort(columns, kind="stable")]
