"""The largest number of each window."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.nn.checks import pair
from sparkdl.nn.layers.pool import Pool2D


@dataclass(frozen=True, kw_only=True)
class MaxPool2D(Pool2D):
    """y = the largest number of each window; padding never wins."""

    def forward(self, params, x, run):
        return ops.max_pool(x, pair(self.size), self.step, self.padding_of(x.shape[1:]))
