"""Counts of pairs (true class, predicted class): a sparse confusion matrix."""

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.training.evaluation.packed_counts import is_rising, narrow, widen

MOST_CLASSES = 10_000  # of a dense matrix: 800 MB
FIRST = 2**16  # examples collected before the first sort


class PairCounts:
    """Counts of the pairs (truth, prediction) that occur, for `classes` classes.

    Counts are int64; once examples have had weights, they are sums of these, float64.

    A pair has the code truth * classes + prediction. Codes are strictly increasing and counts above
    0, so equal counts give equal arrays, whatever the order of examples.
    """

    def __init__(self, classes, codes=(), counts=()):
        self.classes = classes
        self._codes, self._counts = np.asarray(codes, np.int64), widen(as_counts(counts))
        self._waiting, self._number = [], 0

    @classmethod
    def of_matrix(cls, matrix):
        """Returns the counts of a matrix (classes, classes)."""
        flat = widen(np.asarray(matrix)).reshape(-1)
        codes = np.flatnonzero(flat)
        return cls(len(matrix), codes, flat[codes])

    def add(self, truth, predicted, weights=None):
        """Counts (n,) true and predicted classes, both int64; `weights` (n,) are >= 0."""
        codes = truth * self.classes + predicted
        if weights is not None:
            codes, weights = codes[weights > 0], weights[weights > 0]
        self._waiting.append((codes, weights))
        self._number += len(codes)
        if self._number > max(FIRST, len(self._codes)):
            self._settle()

    def __add__(self, other):
        pairs = zip(self._settle(), other._settle(), strict=True)
        return PairCounts(self.classes, *add_up(*map(np.concatenate, pairs)))

    def triples(self):
        """Returns truth and prediction, int64, and the count of the pairs that occur."""
        codes, counts = self._settle()
        return codes // self.classes, codes % self.classes, counts

    def mistakes(self, most):
        """Returns the `triples` of the `most` most frequent confusions."""
        truth, predicted, counts = self.triples()
        wrong = np.flatnonzero(truth != predicted)
        order = wrong[np.argsort(-counts[wrong], kind="stable")[:most]]
        return truth[order], predicted[order], counts[order]

    def by_class(self):
        """Returns per class: correctly predicted examples, examples predicted as it, examples of
        it.
        """
        truth, predicted, counts = self.triples()
        right = truth == predicted
        places = (truth[right], counts[right]), (predicted, counts), (truth, counts)
        return tuple(sum_at(*one, self.classes) for one in places)

    def matrix(self):
        """Returns the counts as (classes, classes), with the truth in rows.

        Raises ConfigError for more than 10,000 classes.
        """
        if self.classes > MOST_CLASSES:
            raise ConfigError(
                f"a confusion matrix must be of at most {MOST_CLASSES:,} classes, got "
                f"{self.classes:,}, which take {8 * self.classes**2:,} bytes; by_class has the "
                "figures of each class, pairs.triples() the counts that are not 0"
            )
        codes, counts = self._settle()
        return sum_at(codes, counts, self.classes**2).reshape(self.classes, self.classes)

    def arrays(self):
        """Returns codes and counts, each array in its smallest lossless type."""
        return [narrow(array) for array in self._settle()]

    def with_arrays(self, arrays):
        """Returns PairCounts for the same number of classes from the result of `arrays`.

        Raises ValueError if they do not fit.
        """
        codes, counts = arrays
        sound = codes.shape == counts.shape == (codes.size,)
        sound = sound and codes.dtype.kind == "i" and counts.dtype.kind in "if"
        result = PairCounts(self.classes, codes, counts) if sound else None
        if result is None or not result._is_sound():
            raise ValueError(f"rising codes below {self.classes**2}, and as many counts")
        return result

    def __getstate__(self):
        return {"classes": self.classes, "arrays": self.arrays()}

    def __setstate__(self, state):
        self.__init__(state["classes"], *state["arrays"])

    def _is_sound(self):
        return is_rising(self._codes, self.classes**2) and bool((self._counts > 0).all())

    def _settle(self):
        """Counts collected examples; returns codes and counts of all that was added."""
        if self._waiting:
            new = count_codes(*joined(self._waiting), self.classes**2)
            pairs = zip((self._codes, self._counts), new, strict=True)
            self._codes, self._counts = add_up(*map(np.concatenate, pairs))
            self._waiting, self._number = [], 0
        return self._codes, self._counts


def as_counts(counts):
    """Returns counts as an array, of integers if it is empty."""
    return np.asarray(counts) if len(counts) else np.zeros(0, np.int64)


def joined(waiting):
    """Returns all codes, and their weights; None if no example has one."""
    codes, weights = zip(*waiting, strict=True)
    if all(one is None for one in weights):
        return np.concatenate(codes), None
    parts = zip(codes, weights, strict=True)
    known = [np.ones(len(code)) if one is None else one for code, one in parts]
    return np.concatenate(codes), np.concatenate(known).astype(np.float64, copy=False)


def count_codes(codes, weights, cells):
    """Returns the codes in [0, cells) that occur, ascending, and their counts."""
    if weights is not None:
        return add_up(codes, weights)
    if cells > 4 * len(codes):
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes, minlength=cells)  # many examples of few classes
    found = np.flatnonzero(counts)
    return found, counts[found]


def add_up(codes, counts):
    """Returns the sorted codes without duplicates, with the sums of their counts."""
    order = np.argsort(codes, kind="stable")  # merges sorted runs
    codes, counts = codes[order], counts[order]
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[first], np.add.reduceat(counts, first) if len(first) else counts


def sum_at(places, counts, size):
    """Returns the sums (size,) of the counts at each position."""
    sums = np.zeros(size, counts.dtype)
    np.add.at(sums, places, counts)
    return sums
