"""A layer that adds its own term to the loss."""

from typing import Any, ClassVar

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import fill_all_of_steps
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class AddedLoss(Layer):
    """y = x, and `weight` times the sum of x over the batch is added to the loss.

    Caffe's loss_weight of a blob that is not a loss. Masked steps do not count, as in the losses of
    outputs, so that the loss does not depend on the length of the padding; Keras's activity
    regularizers and add_loss count them. Even with `mean` the steps of an example are summed, as
    with an output's reduction "sum", and not divided by their number.

    Shapes
    ------
    x, y (batch, ...)
    """

    adds_loss: ClassVar = True

    weight: float = option(Number(), "Factor of the sum.", default=1.0)
    mean: bool = option(
        Boolean(),
        "Whether the sum is over an example, and the mean over the batch.",
        default=False,
    )

    @property
    def has_joint_loss(self) -> bool:  # type: ignore[override]
        return not self.mean

    @property
    def sums_batch(self) -> bool:  # type: ignore[override]
        return not self.mean

    def out_shape(self, in_shape: Any) -> Shape:
        return in_shape

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        factor = self.weight * (1 if self.mean else x.shape[0])
        counted = fill_all_of_steps(x, run.mask)
        run.add_loss(ops.mul(ops.sum(counted, tuple(range(1, len(x.shape)))), float(factor)))
        return x
