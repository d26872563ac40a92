"""A layer at each step of a sequence by itself."""

import dataclasses
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar

from sparkdl.config import Of, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import over_features
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.base import ScoredLayer
from sparkdl.nn.layers.wrappers.base import Wrapper


@dataclasses.dataclass(frozen=True, kw_only=True)
class PerStep(Run):
    """A pass as a layer sees it to which steps are examples; the batch has `steps` of each."""

    steps: int

    def draw(self, draw: Callable[..., Value], shape: Shape) -> Value:
        return rows(super().draw(draw, (self.steps, *shape)))

    def add_loss(self, values: Value) -> None:
        super().add_loss(ops.sum(ops.reshape(values, (-1, self.steps)), 1))


@dataclass(frozen=True, kw_only=True)
class TimeDistributed(Wrapper):
    """The same layer, with the same weights, at each step by itself. Keras TimeDistributed.

    Shapes
    ------
    x (batch, T, ...), y (batch, T, what the layer gives for one step)
    """

    reads_backward: ClassVar = False
    sees_other_steps: ClassVar = False

    layer: Layer = option(
        Of(family=Layer), "Layer at each step, with one input and no state to carry."
    )

    def validate(self) -> None:
        super().validate()
        sound = not self.layer.multi_input and not isinstance(self.layer, ScoredLayer)
        require(self, "layer", sound, "a layer with one input, and no output layer")

    @property
    def low_precision(self) -> bool:  # type: ignore[override]
        """True if the layer inside computes in bfloat16."""
        return self.layer.low_precision

    def one(self, in_shape: Any) -> Shape:
        """Returns the shape of one step."""
        if len(in_shape) < 2:
            raise ShapeError(f"TimeDistributed takes sequences (steps, ...), got {in_shape}")
        if self.layer.state_shapes(in_shape[1:]):
            raise ShapeError("TimeDistributed takes a layer that carries no state")
        return in_shape[1:]

    def out_shape(self, in_shape: Any) -> Shape:
        return (in_shape[0], *self.layer.out_shape(self.one(in_shape)))

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return mask

    def param_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.param_shapes(self.one(in_shape))

    def buffer_shapes(self, in_shape: Any) -> Shapes:
        return self.layer.buffer_shapes(self.one(in_shape))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        mask = run.mask if len(x.shape) == 3 else None  # layers know one of rows or of sequences
        masks = () if mask is None else (rows(over_features(mask)),)
        seen = {item.name: getattr(run, item.name) for item in fields(Run)} | {"masks": masks}
        y = self.layer.forward(params, rows(x), PerStep(**seen, steps=x.shape[1]))
        return ops.reshape(y, (*x.shape[:2], *y.shape[1:]))


def rows(x: Value) -> Value:
    """Returns (N T, ...) of x (N, T, ...)."""
    return ops.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))
