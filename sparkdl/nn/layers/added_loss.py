"""What a layer gives as a loss of its own."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_number
from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class AddedLoss(Layer):
    """y = x, and `weight` times the sum of x over the batch is added to what is minimised.

    Caffe's loss_weight of a blob that is no loss.

    Parameters
    ----------
    weight : float
    mean : bool
        Whether the sum is over an example, and the mean over the batch.

    Shapes
    ------
    x, y (batch, ...)
    """

    weight: float = 1.0
    mean: bool = False

    def __post_init__(self):
        super().__post_init__()
        require(self, "weight", is_number(self.weight), "a finite number")
        require(self, "mean", isinstance(self.mean, bool), "True or False")

    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        factor = self.weight * (1 if self.mean else x.shape[0])
        run.add_loss(ops.mul(ops.sum(x, tuple(range(1, len(x.shape)))), float(factor)))
        return x
