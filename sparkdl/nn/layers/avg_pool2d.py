"""The mean of each window."""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import pair
from sparkdl.nn.layers.pool import Pool2D


@dataclass(frozen=True, kw_only=True)
class AvgPool2D(Pool2D):
    """y = the mean of each window.

    Parameters
    ----------
    count_padding : bool
        Whether padding counts as zeros (as in Caffe) or not at all (Keras). What "ceil" adds never
        counts.
    """

    count_padding: bool = False

    def __post_init__(self):
        super().__post_init__()
        require(self, "count_padding", isinstance(self.count_padding, bool), "True or False")

    def forward(self, params, x, run):
        in_shape = tuple(x.shape[1:])
        padding = self.padding_of(in_shape)
        y = ops.avg_pool(x, pair(self.size), self.step, padding, self.count_padding)
        if self.count_padding and padding != self.padding_of(in_shape, "floor"):
            y = ops.mul(y, self.correction(in_shape).astype(np.dtype(x.dtype)))
        return y

    def correction(self, in_shape):
        """(1, 1, H', W'): the size of a window over how much of it is image or given padding."""
        parts = zip(in_shape[1:], self.padding_of(in_shape, "floor"), pair(self.size), self.step)
        counts = [np.arange(m) for m in self.out_shape(in_shape)[1:]]
        rows, columns = (
            np.minimum(i * s + k, n + sum(p)) - i * s for i, (n, p, k, s) in zip(counts, parts)
        )
        return prod(pair(self.size)) / np.outer(rows, columns)[None, None]
