"""Stochastic depth: in training some examples pass by a branch."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.regularization.noise import DropoutNoise


@dataclass(frozen=True, kw_only=True)
class StochasticDepth(DropoutNoise):
    """In training a whole example becomes 0 with probability `rate`, else x / (1 - rate).

    It ends the branch of a residual block, before the sum: what is dropped passes the block by. The
    choice depends only on the seed, the layer, the example and the epoch. Also called drop path.

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Huang, Sun, Liu, Sedra and Weinberger, Deep networks with stochastic depth (2016), with the
    inverted scaling of EfficientNet, so inference needs none. torchvision's StochasticDepth in mode
    "row"; Keras's Dropout with noise_shape=(None, 1, ...).
    """

    low_precision: ClassVar = True

    def perturb(self, x: Value, run: Run) -> Value:
        dropped = ops.greater(self.rate, run.uniform((1,) * (len(x.shape) - 1)))
        return ops.where(dropped, 0.0, ops.mul(x, 1 / (1 - self.rate)))
