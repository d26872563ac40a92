"""ROC curves from binned scores, so that executors send counts instead of scores."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LIMIT = 16.0
"""Log-odds of the outermost bins' far edges: probabilities from 1.1e-7 to 1 - 1.1e-7."""


class Roc(NamedTuple):
    """A curve from (0, 0) to (1, 1), arrays of one length.

    `thresholds` are scores: what scores at least so much is taken as positive.
    """

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    thresholds: np.ndarray


@dataclass(eq=False)
class ScoreCounts:
    """How often which score was given to positives and to negatives, per column.

    The bins are of equal width in log-odds: scores of trained networks crowd at 0 and 1, where bins
    of equal width in probability would lump them together.

    Shapes
    ------
    positive, negative (columns, bins) int64
    """

    positive: np.ndarray
    negative: np.ndarray

    @classmethod
    def empty(cls, columns, bins):
        return cls(np.zeros((columns, bins), np.int64), np.zeros((columns, bins), np.int64))

    def add(self, scores, truth):
        """Count `scores` (n, columns) in [0, 1] with `truth` (n, columns) of bools."""
        columns, bins = self.positive.shape
        place = bin_of(scores, bins) + bins * np.arange(columns)
        self.positive += _count(place[truth], self.positive.shape)
        self.negative += _count(place[~truth], self.negative.shape)

    def __add__(self, other):
        return ScoreCounts(self.positive + other.positive, self.negative + other.negative)

    def roc(self, column):
        """The Roc of one column; nan rates where it has no positives or no negatives."""
        positive, negative = self.positive[column, ::-1], self.negative[column, ::-1]
        used = positive + negative > 0
        edges = np.arange(self.positive.shape[1])[::-1][used]
        thresholds = np.concatenate([[np.inf], edge_of(edges, self.positive.shape[1])])
        return Roc(_climb(negative[used]), _climb(positive[used]), thresholds)

    def auc(self):
        """Area under each column's ROC, (columns,); nan without positives or without negatives.

        A positive and a negative in one bin count as a tie. `auc_error` bounds what that costs.

        References
        ----------
        Fawcett, An introduction to ROC analysis (2006), section 7: the chance that a positive
        scores above a negative, ties counting half.
        """
        below = np.cumsum(self.negative, axis=1) - self.negative
        wins = np.sum(self.positive * (below + 0.5 * self.negative), axis=1, dtype=np.float64)
        return _per_pair(wins, self)

    def auc_error(self):
        """How far `auc` can be from that of the unbinned scores at most, (columns,)."""
        ties = np.sum(self.positive * self.negative, axis=1, dtype=np.float64)
        return _per_pair(0.5 * ties, self)


def bin_of(scores, bins):
    """Index of the bin of each score, an integer in [0, bins)."""
    with np.errstate(divide="ignore"):
        log_odds = np.log(scores) - np.log1p(-scores)
    place = np.floor((log_odds + LIMIT) * (bins / (2 * LIMIT)))
    return np.clip(place, 0, bins - 1).astype(np.int64)


def edge_of(index, bins):
    """The smallest score that a bin holds."""
    return np.where(index == 0, 0.0, _sigmoid(index * (2 * LIMIT / bins) - LIMIT))


def centre_of(index, bins):
    """The score in the middle (in log-odds) of a bin."""
    return _sigmoid((index + 0.5) * (2 * LIMIT / bins) - LIMIT)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _count(places, shape):
    return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)


def _climb(counts):
    total = counts.sum()
    steps = np.concatenate([[0], np.cumsum(counts)])
    return steps / total if total else np.full(len(steps), np.nan)


def _per_pair(value, counts):
    pairs = counts.positive.sum(axis=1) * counts.negative.sum(axis=1).astype(np.float64)
    return np.divide(value, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
