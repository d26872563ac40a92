"""Accumulation of the workers' pushes for a step."""

import numpy as np


class PendingPushes:
    """Sums contributions in rank order, whatever the order of arrival.

    So the sum is bitwise reproducible. Keeps the running sum, and contributions that arrived early.
    """

    def __init__(self):
        self.ranks, self.weight = set(), 0.0
        self._total, self._early, self._next = None, {}, 0

    def add(self, rank, gradient, weight):
        """Adds an array, which it takes over."""
        self.ranks.add(rank)
        self._early[rank] = gradient, weight
        while self._next in self._early:
            self._fold(self._next)
            self._next += 1

    def take(self):
        """Returns (sum of the arrays, sum of the weights), and resets."""
        for rank in sorted(self._early):
            self._fold(rank)
        total, weight = self._total, self.weight
        self.__init__()
        return total, weight

    def _fold(self, rank):
        gradient, weight = self._early.pop(rank)
        if self._total is None:
            self._total = gradient
        else:
            np.add(self._total, gradient, out=self._total)
        self.weight += weight
