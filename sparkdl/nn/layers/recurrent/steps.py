"""Layers for padded sequences: a mask from features, and the last existing step."""

from typing import Any

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.engine.ops.reduce import equal
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import fill_padding, over_features
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Masking(Layer):
    """Masks steps whose features all equal `value`: later layers ignore them, and they become 0.

    A mask of the input applies as well. Keras Masking, DL4J MaskZeroLayer.

    Shapes
    ------
    x, y (batch, T, F)
    """

    value: float = option(Number(), "Value of all features of padding.", default=0.0)

    def out_shape(self, in_shape: Any) -> Shape:
        return self.sequence(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        active = ops.max(ops.where(x - self.value, 1.0, 0.0), 2)  # a step with NaN is kept, to show
        mask = active if run.mask is None else ops.mul(active, run.mask)
        run.mask_output(mask)
        return fill_padding(x, mask)


@dataclass(frozen=True, kw_only=True)
class LastTimeStep(Layer):
    """Takes the last unmasked step of each sequence, as DL4J's LastTimeStepVertex does.

    Shapes
    ------
    x (batch, T, F), y (batch, F); zeros for a sequence without a step
    """

    def out_shape(self, in_shape: Any) -> Shape:
        return self.sequence(in_shape)[1:]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        n, steps, width = x.shape
        if run.mask is None:
            return ops.reshape(ops.slice(x, (0, steps - 1, 0), x.shape), (n, width))
        numbers = ops.mul(run.mask, np.arange(1, steps + 1, dtype=x.dtype))
        last = ops.broadcast_to(ops.max(numbers, 1, keepdims=True), numbers.shape)
        is_last = over_features(ops.mul(equal(numbers, last), run.mask))
        return ops.sum(ops.where(is_last, x, 0.0), 1)
