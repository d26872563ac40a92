"""Elementwise operations on two inputs, the smaller one broadcast."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Integer, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer


def keep(x: Value, w: Value) -> Value:
    """Returns x where w is not 0, else 0."""
    return ops.where(w, x, np.zeros((), x.dtype))


OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "add": ops.add,
    "product": ops.mul,
    "mask": keep,
}


@dataclass(frozen=True, kw_only=True)
class Broadcasting(JoiningLayer):
    """Adds w to x, or multiplies x by w; the axes of w are those of x from `axis` on.

    The operation "mask" keeps x where w is not 0; elsewhere y is 0, even if x is infinite or NaN.
    Caffe layers Bias and Scale with two bottoms.

    Shapes
    ------
    x, y (batch, C, H, W); w (batch, C, H, W), (batch, C, H) or (batch, C) for axis 0,
    (batch, H) or (batch, H, W) for axis 1; (batch, 1) for a number for each example; or as many
    axes as x, each of its length or 1
    """

    low_precision: ClassVar = True

    operation: str = option(Choice(of=tuple(OPERATIONS)), "Operation with w.", default="product")
    axis: int = option(Integer(minimum=0), "Axis of one example.", default=0)

    def out_shape(self, in_shape: Any) -> Shape:
        channels = in_shape[1] if len(in_shape) == 2 else ()
        alike = channels and in_shape[0][self.axis : self.axis + len(channels)] == channels
        if channels != (1,) and not alike and not repeats(channels, in_shape[0]):
            raise ShapeError(
                f"Broadcasting needs two inputs, the second as the first from axis {self.axis} on, "
                f"got {in_shape}"
            )
        return in_shape[0]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x, w = x
        if len(w.shape) == len(x.shape):
            return OPERATIONS[self.operation](x, w)
        before = 0 if tuple(w.shape[1:]) == (1,) else self.axis
        behind = len(x.shape) - len(w.shape) - before
        w = ops.reshape(w, (w.shape[0], *[1] * before, *w.shape[1:], *[1] * behind))
        return OPERATIONS[self.operation](x, w)


def repeats(small: Shape, large: Shape) -> bool:
    """Returns whether each axis of `small` is 1 or as long as that of `large`."""
    pairs = zip(small, large, strict=False)
    return len(small) == len(large) and all(n in (1, m) for n, m in pairs)
