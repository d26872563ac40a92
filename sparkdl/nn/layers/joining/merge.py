"""Layers that join several inputs, by concatenation or elementwise."""

from functools import reduce
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Integer, Number, Sequence, dataclass, option
from sparkdl.config.field_types import OptionalSeveral
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import any_step
from sparkdl.nn.layers.core.run import Run

OPERATIONS = {"add": ops.add, "subtract": ops.sub, "product": ops.mul, "max": ops.maximum}


@dataclass(frozen=True, kw_only=True)
class JoiningLayer(Layer, abstract=True):
    """A layer with several inputs, whose output has the first mask among theirs that fits.

    Where only masks (batch, T, S) of steps within steps come and S has changed, a step exists if
    any step within it did.
    """

    multi_input: ClassVar = True

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        out = tuple(self.out_shape(in_shape))
        masks = [m for m in mask if m is not None]
        masks.sort(key=lambda m: len(m.shape), reverse=True)  # those of steps within steps first
        of_steps = (any_step(m) for m in masks if len(m.shape) > 2)
        return next((m for m in chain(masks, of_steps) if fits(m, out)), None)


@dataclass(frozen=True, kw_only=True)
class Merge(JoiningLayer):
    """Concatenates the inputs. DL4J MergeVertex, Caffe Concat.

    Along the steps of sequences, or the steps within them, it concatenates masks too, as Keras
    does; an input without a mask has all its steps.

    Shapes
    ------
    x (batch, C1, H, W), (batch, C2, H, W) ... gives y (batch, C1 + C2 ..., H, W)
    """

    low_precision: ClassVar = True

    axis: int | None = option(
        Integer(),
        "Axis of one example: 0 for channels of images, -1 for features. None: the first axis "
        "of images and the last of rows and sequences.",
        default=None,
    )

    def axis_of(self, shape: Shape) -> int:
        axis = (0 if len(shape) > 2 else -1) if self.axis is None else self.axis
        if not -len(shape) <= axis < len(shape):
            raise ShapeError(f"Merge.axis must be an axis of {shape}, got {axis}")
        return axis % len(shape)

    def out_shape(self, in_shape: Any) -> Shape:
        first = in_shape[0]
        axis = self.axis_of(first)
        others = {(len(s), *s[:axis], *s[axis + 1 :]) for s in in_shape}
        if len(others) > 1:
            raise ShapeError(
                f"Merge needs shapes that differ along axis {axis} only, got {in_shape}"
            )
        return (*first[:axis], sum(s[axis] for s in in_shape), *first[axis + 1 :])

    def mixes_steps(self, in_shape: Any) -> bool:
        return self.joins_steps(in_shape)

    def joins_steps(self, in_shape: Any) -> bool:
        """Returns whether sequences (T, F) are joined along T."""
        return len(in_shape[0]) == 2 and self.axis_of(in_shape[0]) == 0

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        known = [m for m in mask if m is not None]
        within = max((len(m.shape) for m in known), default=1) - 1  # axes of an example with masks
        axis, pairs = self.axis_of(in_shape[0]), list(zip(mask, in_shape, strict=True))
        own = all(m is None or fits(m, shape) for m, shape in pairs)
        if not own or axis >= within:
            return super().out_mask(mask, in_shape)
        all_there = np.ones(known[0].shape[:1], known[0].dtype)
        masks = [with_inside(all_there if m is None else m, s[:within]) for m, s in pairs]
        return ops.concat(masks, 1 + axis)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.concat(list(x), 1 + self.axis_of(x[0].shape[1:]))


def fits(mask: Value, shape: Shape) -> bool:
    """Returns whether a mask is one of steps of examples of a shape, which have numbers each."""
    within = len(mask.shape) - 1
    return len(shape) > within and tuple(mask.shape[1:]) == tuple(shape[:within])


def with_inside(mask: Value, steps: Shape) -> Value:
    """Returns a mask (N, ...) as (N, *steps): what is within a step exists if the step does."""
    inside = [1] * (1 + len(steps) - len(mask.shape))
    return ops.broadcast_to(ops.reshape(mask, (*mask.shape, *inside)), (mask.shape[0], *steps))


@dataclass(frozen=True, kw_only=True)
class ElementWise(JoiningLayer):
    """Combines inputs of one shape element by element. DL4J ElementWiseVertex, Caffe Eltwise.

    Shapes
    ------
    x (batch, ...) several times, y (batch, ...)
    """

    low_precision: ClassVar = True

    operation: str = option(
        Choice(of=(*OPERATIONS, "average")),
        'Operation on the inputs; "subtract" takes the others from the first.',
        default="add",
    )
    coefficients: OptionalSeveral[float] = option(
        Sequence(of=Number()), 'With "add", a factor for each input. None: 1.', default=None
    )

    def validate(self) -> None:
        super().validate()
        sound = self.coefficients is None or self.operation == "add"
        require(self, "coefficients", sound, 'None unless operation is "add"')

    def out_shape(self, in_shape: Any) -> Shape:
        if len(set(in_shape)) > 1:
            raise ShapeError(f"ElementWise needs inputs of one shape, got {in_shape}")
        if self.coefficients is not None and len(self.coefficients) != len(in_shape):
            raise ShapeError(
                f"ElementWise.coefficients must be {len(in_shape)}, one for each input, got "
                f"{self.coefficients}"
            )
        return in_shape[0]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        if self.coefficients is not None:
            x = [ops.mul(part, factor) for part, factor in zip(x, self.coefficients, strict=True)]
        y = reduce(OPERATIONS.get(self.operation, ops.add), x)
        return ops.mul(y, 1 / len(x)) if self.operation == "average" else y
