"""Precision, recall and F1 from counts; 0 where the divisor is 0, as with scikit-learn's
zero_division=0.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Rates:
    """Counts per class, each an int64 array (classes,).

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


def share(part, whole):
    """Returns part / whole elementwise, 0 where whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) != 0)
