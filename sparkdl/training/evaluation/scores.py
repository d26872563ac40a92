"""ROC curves from counts of scores, which executors send instead of the scores."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparkdl.training.evaluation.distinct_scores import LIMIT, DistinctScores
from sparkdl.training.evaluation.packed_counts import narrow, pack, unpack, widen
from sparkdl.training.evaluation.rates import share
from sparkdl.training.evaluation.row_blocks import blocks_of

FAR = 16.0
"""Log-odds of the outermost bins' far edges: probabilities from 1.1e-7 to 1 - 1.1e-7."""


class Roc(NamedTuple):
    """A curve from (0, 0) to (1, 1), arrays of one length.

    Parameters
    ----------
    false_positive_rate, true_positive_rate : array of float64
        Shares of the negatives, and of the positives, that are taken as positive, in [0, 1].
    thresholds : array of float64
        Scores: what scores at least so much is taken as positive.
    """

    false_positive_rate: np.ndarray
    true_positive_rate: np.ndarray
    thresholds: np.ndarray


@dataclass(eq=False)
class ScoreCounts:
    """Counts of scores among positives and among negatives, per column.

    Up to a limit each distinct score is counted, so that curves and areas are exact; beyond it
    bins, which are always counted too, take over. Bins have equal width in log-odds: scores of
    trained networks crowd at 0 and 1, where bins of equal width in probability would lump them
    together.

    `known` is (auc, auc_error, average_precision) if the scores were dropped, and the bins have
    become small types.

    Shapes
    ------
    positive, negative (columns, bins) integers; sums of weights, floats, if examples have weights
    """

    positive: np.ndarray
    negative: np.ndarray
    distinct: DistinctScores
    known: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def empty(cls, columns, bins, limit=LIMIT):
        """Returns empty counts, exact up to `limit` distinct scores of all columns together."""
        counts = (np.zeros((columns, bins), np.int64) for _ in range(2))
        return cls(*counts, DistinctScores(limit))

    @property
    def exact(self) -> bool:
        """True if each distinct score is known, not only its bin."""
        return not self.distinct.is_exceeded

    @property
    def nbytes(self) -> int:
        """Bytes that `without_scores` would free, about."""
        bins = self.positive.nbytes + self.negative.nbytes
        return 0 if self.known is not None else bins + self.distinct.nbytes

    def without_scores(self):
        """Returns counts that take little memory: areas are the same, curves are of bins."""
        known = self.auc(), self.auc_error(), self.average_precision()
        bins = map(narrow, (self.positive, self.negative))
        return ScoreCounts(*bins, DistinctScores(0), known)

    def add(self, scores, truth, weights=None):
        """Counts `scores` (n, columns) in [0, 1] with `truth` (n, columns) of bools.

        Each example counts as much as its weight says; `weights` are (n,).
        """
        if self.known is not None:
            self.positive, self.negative = map(widen, self._bins)
            self.known = None
        for part in blocks_of(scores.shape):
            if weights is None:
                self._add_to_bins(scores[part], truth[part])
            else:
                self._add_weights(scores[part], truth[part], weights[part])
        self.distinct.add(scores, truth, weights)

    def _add_weights(self, scores, truth, weights):
        columns, bins = self.positive.shape
        place = bin_of(scores, bins) + bins * np.arange(columns)
        each = np.broadcast_to(weights[:, np.newaxis], truth.shape)
        sums = ((truth, self.positive), (~truth, self.negative))
        self.positive, self.negative = (
            count + np.bincount(place[chosen], each[chosen], count.size).reshape(count.shape)
            for chosen, count in sums
        )

    def _add_to_bins(self, scores, truth):
        columns, bins = self.positive.shape
        place = bin_of(scores, bins) + bins * np.arange(columns)
        positive, negative = self.positive.reshape(-1), self.negative.reshape(-1)
        yes = place[truth]
        np.add.at(positive, yes, 1)
        np.add.at(negative, place.reshape(-1), 1)
        np.subtract.at(negative, yes, 1)

    @property
    def _bins(self):
        return self.positive, self.negative

    def __add__(self, other):
        pairs = zip(self._bins, other._bins, strict=True)
        kind = np.result_type(np.int64, *self._bins, *other._bins)
        counts = (np.add(one, more, dtype=kind) for one, more in pairs)
        return ScoreCounts(*counts, self.distinct + other.distinct)

    def arrays(self):
        """Returns all counts, as arrays."""
        return [*pack(self.positive), *pack(self.negative), *self.distinct.arrays()]

    def with_arrays(self, arrays):
        """Returns counts like these from the result of `arrays`; raises ValueError if they do not
        fit.
        """
        shape = self.positive.shape
        positive, negative = unpack(arrays[:3], shape), unpack(arrays[3:6], shape)
        return ScoreCounts(positive, negative, self.distinct.with_arrays(arrays[6:]))

    def __getstate__(self):
        bins = pack(self.positive), pack(self.negative)
        more = {"distinct": self.distinct, "known": self.known}
        return {"shape": self.positive.shape, "bins": bins} | more

    def __setstate__(self, state):
        self.positive, self.negative = (unpack(one, state["shape"]) for one in state["bins"])
        self.distinct, self.known = state["distinct"], state.get("known")

    def roc(self, column):
        """Returns the Roc of one column; rates are nan without positives or without negatives."""
        if self.exact:
            scores, positive, negative = (array[::-1] for array in self.distinct.of(column))
            return _curve(scores, positive, negative)
        positive, negative = self.positive[column, ::-1], self.negative[column, ::-1]
        used = (positive > 0) | (negative > 0)
        edges = np.arange(self.positive.shape[1])[::-1][used]
        return _curve(edge_of(edges, self.positive.shape[1]), positive[used], negative[used])

    def auc(self) -> np.ndarray:
        """Returns the area under each column's ROC, (columns,); nan if it has only one class.

        If not `exact`, a positive and a negative in the same bin count as a tie. `auc_error` bounds
        the resulting error.

        References
        ----------
        Fawcett, An introduction to ROC analysis (2006), section 7: the chance that a positive
        scores above a negative, ties counting half.
        """
        if self.known is not None:
            return self.known[0]
        if not self.exact:
            return _per_pair(_wins(self.positive, self.negative), self)
        wins = [_wins(*counts) for _, *counts in self.by_score()]
        return _per_pair(np.array(wins, np.float64), self)

    def by_score(self):
        """Yields (scores, positive, negative) of each column, in ascending order of the scores, or
        of the middles of bins.
        """
        columns, bins = self.positive.shape
        for column in range(columns):
            if self.exact:
                yield self.distinct.of(column)
            else:
                yield center_of(np.arange(bins), bins), self.positive[column], self.negative[column]

    def average_precision(self) -> np.ndarray:
        """Returns the average precision of each column, (columns,); nan if it has no positives.

        References
        ----------
        Manning, Raghavan and Schütze, Introduction to information retrieval (2008), section 8.4:
        the mean of the precisions at each positive, in descending order of scores.
        """
        if self.known is not None:
            return self.known[2]
        return np.array([_average_precision(*counts) for _, *counts in self.by_score()], np.float64)

    def auc_error(self) -> np.ndarray:
        """Returns the largest possible error of `auc` due to bins, (columns,)."""
        if self.known is not None:
            return self.known[1]
        ties = np.sum(self.positive * self.negative.astype(np.float64), axis=1)
        return _per_pair(0.5 * ties * (not self.exact), self)


def bins_for(columns, cells):
    """Returns the default number of bins for this many columns, with at most `cells` in total."""
    return max(1, min(4096, cells // columns))


def bin_of(scores, bins):
    """Returns the index of each score's bin, an integer in [0, bins)."""
    with np.errstate(divide="ignore"):
        log_odds = np.log(scores) - np.log1p(-scores)
    place = np.floor((log_odds + FAR) * (bins / (2 * FAR)))
    return np.clip(place, 0, bins - 1).astype(np.int64)


def edge_of(index, bins):
    """Returns the smallest score of a bin."""
    return np.where(index == 0, 0.0, _sigmoid(index * (2 * FAR / bins) - FAR))


def center_of(index, bins):
    """Returns the score in the middle (in log-odds) of a bin."""
    return _sigmoid((index + 0.5) * (2 * FAR / bins) - FAR)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _curve(scores, positive, negative):
    """Returns the Roc of descending scores and their counts."""
    return Roc(_climb(negative), _climb(positive), np.concatenate([[np.inf], scores]))


def _wins(positive, negative):
    """Returns the number of pairs won by the positive, ties counting half; scores are ascending."""
    below = np.cumsum(negative, axis=-1) - negative
    return np.sum(positive * (below + 0.5 * negative), axis=-1, dtype=np.float64)


def _average_precision(positive, negative):
    """Returns the mean precision over positives; scores are ascending."""
    hits, wrong = (np.cumsum(counts[::-1], dtype=np.float64) for counts in (positive, negative))
    total = hits[-1] if len(hits) else 0
    precision = share(hits, hits + wrong)
    return float(positive[::-1] @ precision / total) if total else np.nan


def _climb(counts):
    steps = np.concatenate([[0], np.cumsum(counts)])
    return steps / steps[-1] if steps[-1] else np.full(len(steps), np.nan)


def _per_pair(value, counts):
    pairs = counts.positive.sum(axis=1) * counts.negative.sum(axis=1).astype(np.float64)
    return np.divide(value, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
