"""Reduction of the last axes to one number."""

from math import prod

from sparkdl.config import Choice, Integer, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import fill_steps, mask_of_same, mask_over
from sparkdl.nn.layers.core.run import Run

OPERATIONS = {
    "sum": lambda x: ops.sum(x, (2,)),
    "asum": lambda x: ops.sum(ops.abs(x), (2,)),
    "sumsq": lambda x: ops.sum(ops.square(x), (2,)),
    "mean": lambda x: ops.mean(x, (2,)),
}


@dataclass(frozen=True, kw_only=True)
class Reduce(Layer):
    """coefficient times the sum of x, of |x| or of x^2, or the mean of x, from `axis` on.

    Caffe layer Reduction. Over the steps of a sequence (axis 0), or over the steps within a step,
    padding that a mask leaves out does not count; a sequence without steps gives 0.

    Shapes
    ------
    x (batch, C, H, W), y (batch, 1) for axis 0, (batch, C) for axis 1, (batch, C, H) for axis 2
    """

    operation: str = option(Choice(of=tuple(OPERATIONS)), "Reduction to compute.", default="sum")
    axis: int = option(Integer(minimum=0), "First axis of an example that is reduced.", default=0)
    coefficient: float = option(Number(), "Factor of the result.", default=1.0)

    def out_shape(self, in_shape: Shape) -> Shape:
        if self.axis >= len(in_shape):
            raise ShapeError(f"Reduce.axis must be an axis of {in_shape}, got {self.axis}")
        return tuple(in_shape[: self.axis]) or (1,)

    def mixes_steps(self, in_shape: Shape) -> bool:
        return self.axis == 0 and len(in_shape) == 2

    def reduces_steps(self, mask: Value) -> bool:
        """Returns whether the last axis of a mask (batch, T) or (batch, T, S) is reduced."""
        return mask is not None and self.axis <= len(mask.shape) - 2

    def lists_steps(self, in_shape: Shape) -> bool:
        return self.axis == 1 and len(in_shape) == 2

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        """Returns the mask of the steps, if something within each remains."""
        out = self.out_shape(in_shape)
        return mask_of_same(mask, in_shape, out) if len(out) > 1 else None

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        out = self.out_shape(tuple(x.shape[1:]))
        there = mask_over(x, run.mask) if self.reduces_steps(run.mask) else None
        y = x if there is None else fill_steps(x, run.mask)
        rest = prod(x.shape[1:]) // prod(out)
        y = OPERATIONS[self.operation](ops.reshape(y, (x.shape[0], prod(out), rest)))
        if there is not None and self.operation == "mean":
            there = ops.reshape(there, (x.shape[0], prod(out), -1))
            steps = ops.sum(there, (2,))
            y = ops.mul(y, ops.div(float(there.shape[2]), ops.maximum(steps, 1.0)))
        y = y if self.coefficient == 1 else ops.mul(y, float(self.coefficient))
        return ops.reshape(y, (x.shape[0], *out))
