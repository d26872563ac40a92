"""Collective operations of a program over the workers that hold parts of the same layers."""

import time

import numpy as np


class TensorGroup:
    """Adapts a Group to the engine's collective operations, and measures their time.

    Parameters
    ----------
    group : Group

    Attributes
    ----------
    seconds : float
        Time spent in calls since the last `take_seconds`.
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
        """Returns a new array (size, *x.shape) with the x of each worker."""
        start = time.perf_counter()
        out = np.empty((self.size, *x.shape), x.dtype)
        self.group.all_gather(x.reshape(-1), out.reshape(-1))
        self.seconds += time.perf_counter() - start
        return out

    def take_seconds(self):
        """Returns `seconds` and resets them."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds
