"""Means and covariations of two sets of columns, summable without loss of precision."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of n pairs (x, y), per column; arrays (columns,) float64.

    Sums of squares are kept about the mean: plain sums of x*x would lose the digits of a small
    variation about a large mean.

    Parameters
    ----------
    n : int or float
        Number of pairs, or the sum of their weights.
    x, y : array
        Means.
    xx, yy, xy : array
        Sums of (x - mean)^2, (y - mean)^2 and (x - mean)(y - mean).

    References
    ----------
    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample
    variances (1979).
    """

    n: float
    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    yy: np.ndarray
    xy: np.ndarray

    @classmethod
    def empty(cls, columns):
        return cls(0, *(np.zeros(columns) for _ in range(5)))

    @classmethod
    def of(cls, x, y, weights=None):
        """Returns the moments of two arrays (n, columns); `weights` (n,) are of the pairs."""
        n = len(x) if weights is None else float(weights.sum())
        if n == 0:
            return cls.empty(x.shape[1])
        w = 1 if weights is None else weights[:, np.newaxis]
        mean_x, mean_y = mean_of(x, weights), mean_of(y, weights)
        dx, dy = x - mean_x, y - mean_y
        sums = (np.sum(w * a * b, axis=0) for a, b in ((dx, dx), (dy, dy), (dx, dy)))
        return cls(n, mean_x, mean_y, *sums)

    def __add__(self, other):
        if self.n == 0 or other.n == 0:
            return other if self.n == 0 else self
        n = self.n + other.n
        dx, dy = other.x - self.x, other.y - self.y
        weight = self.n * other.n / n
        return Moments(
            n,
            self.x + dx * (other.n / n),
            self.y + dy * (other.n / n),
            self.xx + other.xx + weight * dx * dx,
            self.yy + other.yy + weight * dy * dy,
            self.xy + other.xy + weight * dx * dy,
        )

    def correlation(self) -> float:
        """Returns Pearson's correlation of x and y, (columns,); nan if either does not vary."""
        spread = np.sqrt(self.xx) * np.sqrt(self.yy)
        nothing = np.full(len(spread), np.nan)
        return np.divide(self.xy, spread, out=nothing, where=spread > 0)


def mean_of(x, weights=None):
    """Returns the means of an array (n, columns); exact for columns of equal numbers."""
    first = x[0]
    return first + np.average(x - first, axis=0, weights=weights)
