"""The workers that have parts of the same layers, as the operations of a program call them."""

import time

import numpy as np


class TensorGroup:
    """A Group to the collective operations of the engine; measures the time that they take.

    Parameters
    ----------
    group : Group

    Attributes
    ----------
    seconds : float
        That calls have taken since `take_seconds`.
    """

    def __init__(self, group):
        self.group, self.rank, self.size = group, group.rank, group.size
        self.seconds = 0.0

    def all_reduce(self, x, how="sum"):
        """Replaces float32 x by its "sum" or "max" over the workers; returns it."""
        start = time.perf_counter()
        self.group.all_reduce(x, how)
        self.seconds += time.perf_counter() - start
        return x

    def all_gather(self, x):
        """Returns (size, *x.shape): x of each worker, a new array."""
        start = time.perf_counter()
        out = np.empty((self.size, *x.shape), x.dtype)
        self.group.all_gather(x.reshape(-1), out.reshape(-1))
        self.seconds += time.perf_counter() - start
        return out

    def take_seconds(self):
        """Returns `seconds`, which begin anew."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds
