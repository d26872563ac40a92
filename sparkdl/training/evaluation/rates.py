"""Precision, recall, F-beta and Matthews' correlation from counts; 0 where the divisor is 0, as
with scikit-learn's zero_division=0.
"""

from dataclasses import dataclass

import numpy as np

ROUNDING = 1e-12  # of a share: sums of millions of weights have lost less


@dataclass(frozen=True, eq=False)
class Rates:
    """Counts per class, (classes,) int64 each; sums of weights, float64, where examples have any.

    Parameters
    ----------
    hits : array
        True positives: examples of the class that were predicted as such.
    predicted, occurring : array
        Examples predicted as the class, and examples of the class.
    """

    hits: np.ndarray
    predicted: np.ndarray
    occurring: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """hits / predicted, (classes,)."""
        return share(self.hits, self.predicted)

    @property
    def recall(self) -> np.ndarray:
        """hits / occurring, (classes,)."""
        return share(self.hits, self.occurring)

    @property
    def f1(self) -> np.ndarray:
        """Harmonic mean of precision and recall, (classes,)."""
        return share(2 * self.hits, self.predicted + self.occurring)

    def f_beta(self, beta: float) -> np.ndarray:
        """Returns (1 + b) hits / (predicted + b occurring) with b = beta², (classes,): the recall
        counts beta times as much as the precision.
        """
        b = float(beta) ** 2
        return share((1 + b) * self.hits, self.predicted + b * self.occurring)

    def matthews(self, examples: float) -> np.ndarray:
        """Returns Matthews' correlation of each class with its prediction, (classes,), in [-1, 1].

        References
        ----------
        Matthews, Comparison of the predicted and observed secondary structure of T4 phage lysozyme
        (1975).
        """
        n, hits = float(examples), self.hits.astype(np.float64)
        predicted, occurring = round_up(self.predicted / n), round_up(self.occurring / n)
        spread = predicted * (1 - predicted) * occurring * (1 - occurring)
        return share(hits / n - predicted * occurring, np.sqrt(np.maximum(spread, 0)))

    def matthews_of_all(self) -> float:
        """Returns Matthews' correlation of all classes together, where each example has one.

        References
        ----------
        Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient
        (2004).
        """
        n = float(self.occurring.sum())
        if not n:
            return float("nan")
        hits = float(self.hits.sum()) / n
        predicted, occurring = round_up(self.predicted / n), round_up(self.occurring / n)
        spread = float((1 - predicted @ predicted) * (1 - occurring @ occurring))
        return float(share(hits - predicted @ occurring, max(spread, 0.0) ** 0.5))


def round_up(shares):
    """Returns shares with 1 for those that only the rounding of sums of weights keeps from it."""
    return np.where(np.abs(1 - shares) < ROUNDING, 1.0, shares)


def share(part, whole):
    """Returns part / whole elementwise, 0 where whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) != 0)
