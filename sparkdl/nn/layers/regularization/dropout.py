"""Random zeros in training."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.regularization.noise import DropoutNoise


@dataclass(frozen=True, kw_only=True)
class Dropout(DropoutNoise):
    """In training each number becomes 0 with probability `rate`, else x / (1 - rate).

    What is dropped depends only on the seed, the layer, the example and the epoch, not on the batch
    or the worker of the example.

    Shapes
    ------
    x, y (batch, ...), of one shape

    References
    ----------
    Srivastava et al., Dropout (2014), section 10: inverted scaling, so inference needs none.
    """

    low_precision: ClassVar = True

    def perturb(self, x: Value, run: Run) -> Value:
        dropped = ops.greater(self.rate, run.uniform(x.shape[1:]))
        return ops.where(dropped, 0.0, ops.mul(x, 1 / (1 - self.rate)))
