"""Random zeros while training."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_share
from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class Dropout(Layer):
    """While training, each number becomes 0 with probability `rate`, else x / (1 - rate).

    What is dropped depends on the seed, the layer, the example and the epoch alone: not on the
    batch or the worker that an example falls to.

    Parameters
    ----------
    rate : float
        Share that is dropped, in [0, 1).

    References
    ----------
    Srivastava et al., Dropout (2014), section 10: the inverted scaling, so nothing changes in use.
    """

    narrow: ClassVar = True

    rate: float = 0.5

    def __post_init__(self):
        super().__post_init__()
        require(self, "rate", is_share(self.rate), "in [0, 1)")

    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        if not run.training or self.rate == 0:
            return x
        dropped = ops.greater(self.rate, run.uniform(x.shape[1:]))
        return ops.where(dropped, 0.0, ops.mul(x, 1 / (1 - self.rate)))
