"""Rearrangement of the numbers of an example."""

from math import prod
from typing import ClassVar

from sparkdl.config import Integer, Sequence, Size, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import any_step, mask_of_same
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Reshape(Layer):
    """Reshapes each example; the order of its numbers stays.

    Shapes
    ------
    x (batch, ...), y (batch, *shape)
    """

    low_precision: ClassVar = True
    keeps_numbers: ClassVar = True

    shape: Several[int] = option(
        Sequence(of=Size(minimum=-1)),
        "Shape of an example, without the batch; no size is 0, and one may be -1, which is "
        "inferred.",
    )

    def validate(self) -> None:
        super().validate()
        holds = 0 not in self.shape and self.shape.count(-1) <= 1
        require(self, "shape", holds, "a tuple of integers >= 1, one of which may be -1")

    def out_shape(self, in_shape: Shape) -> Shape:
        count, known = prod(in_shape), prod(n for n in self.shape if n != -1)
        if count % known or (count != known and -1 not in self.shape):
            raise ShapeError(f"Reshape to {self.shape} does not fit the {count} of {in_shape}")
        return tuple(count // known if n == -1 else n for n in self.shape)

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        """Returns the mask while there are as many steps, of steps within steps too."""
        return mask_of_same(mask, in_shape, self.out_shape(in_shape))

    def lists_steps(self, in_shape: Shape) -> bool:
        return True

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.reshape(x, (x.shape[0], *self.out_shape(tuple(x.shape[1:]))))


@dataclass(frozen=True, kw_only=True)
class Permute(Layer):
    """Permutes the axes of an example.

    Shapes
    ------
    x (batch, *in_shape), y (batch, ...) with the axes of x as `order` has them
    """

    low_precision: ClassVar = True
    keeps_numbers: ClassVar = True

    order: Several[int] = option(
        Sequence(of=Integer(minimum=0)),
        "Axis i of the output is axis order[i] of the input, counted from 0 without the batch; "
        "each occurs once. Keras counts from 1.",
    )

    def validate(self) -> None:
        super().validate()
        holds = sorted(self.order) == list(range(len(self.order)))
        require(self, "order", holds and self.order, "the numbers from 0, each once")

    def out_shape(self, in_shape: Shape) -> Shape:
        if len(in_shape) != len(self.order):
            raise ShapeError(f"Permute to {self.order} needs as many axes, got {in_shape}")
        return tuple(in_shape[axis] for axis in self.order)

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        """Returns the mask while the steps stay first, and those within them second."""
        if mask is None or self.order[0] != 0:
            return None
        within = tuple(range(len(mask.shape) - 1))
        return mask if self.order[: len(within)] == within else any_step(mask)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.transpose(x, (0, *(1 + axis for axis in self.order)))


@dataclass(frozen=True, kw_only=True)
class RepeatVector(Layer):
    """Repeats a row at each of `count` steps. DL4J and Keras RepeatVector.

    Shapes
    ------
    x (batch, F), y (batch, count, F)
    """

    low_precision: ClassVar = True

    count: int = option(Size(minimum=1), "Number of steps.")

    def out_shape(self, in_shape: Shape) -> Shape:
        if len(in_shape) != 1:
            raise ShapeError(f"RepeatVector takes rows of features (n,), got {in_shape}")
        return (self.count, *in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        batch, features = x.shape
        row = ops.reshape(x, (batch, 1, features))
        return ops.broadcast_to(row, (batch, self.count, features))
