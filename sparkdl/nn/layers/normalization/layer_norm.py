"""Normalization of each example on its own."""

from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.config.field_types import OptionalAxes
from sparkdl.engine import ops
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.channels import channel_axis
from sparkdl.nn.layers.core.masks import fill_padding, over_features
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.normalization.axes import Axes


@dataclass(frozen=True, kw_only=True)
class LayerNorm(TrainableLayer):
    """y = gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics along `axes`.

    Where the steps of a sequence are among these, those that a mask leaves out do not count.

    Shapes
    ------
    x, y (batch, ...); gamma, beta as one example has it along `axes`: (F,) of (batch, T, F)

    References
    ----------
    Ba, Kiros and Hinton, Layer normalization (2016), eq. 4. The numbers are those of PyTorch, with
    `axes` as its normalized_shape, and Keras (whose epsilon is 1e-3).
    """

    biases: ClassVar[tuple[str, ...]] = ("beta",)

    axes: OptionalAxes = option(
        Axes(),
        "Axes of one example, without the batch, that are normalized together, with a gamma and "
        "a beta for each place on them. None: the features of rows and sequences, the channels of "
        "images and volumes at each place.",
        default=None,
    )
    epsilon: float = option(Number(above=0), "Number added to the variance.", default=1e-5)
    scale: bool = option(Boolean(), "Whether to scale by a gamma.", default=True)
    shift: bool = option(Boolean(), "Whether to add a beta.", default=True)

    def mixes_steps(self, in_shape: Shape) -> bool:
        """Returns whether the steps of a sequence are among what is normalized together."""
        return self.axes is not None and len(in_shape) > 1 and 0 in self.axes_of(in_shape)

    def axes_of(self, in_shape: Shape) -> Shape:
        """Returns the axes of an example that are normalized together, counted from the front."""
        rank = len(in_shape)
        axes = channel_axis(in_shape) if self.axes is None else self.axes
        axes = (axes,) if isinstance(axes, int) else axes
        if not in_shape or any(not -rank <= axis < rank for axis in axes):
            raise ShapeError(f"LayerNorm along {axes} needs these axes, got {in_shape}")
        return tuple(sorted({axis % rank for axis in axes}))

    def out_shape(self, in_shape: Shape) -> Shape:
        self.axes_of(in_shape)
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        shape = tuple(in_shape[axis] for axis in self.axes_of(in_shape))
        flags = {"gamma": self.scale, "beta": self.shift}
        return {name: shape for name, flag in flags.items() if flag}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.ones(shape) if name == "gamma" else np.zeros(shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        axes = [1 + axis for axis in self.axes_of(x.shape[1:])]
        if run.mask is not None and len(x.shape) == 3 and 1 in axes:
            return self.scale_and_shift(params, normalize_steps(x, run.mask, axes, self.epsilon))
        count = prod(x.shape[axis] for axis in axes)
        dtype = computing_dtype(x.dtype)
        gamma = flat(params["gamma"]) if self.scale else np.ones(count, dtype)
        beta = flat(params["beta"]) if self.shift else np.zeros(count, dtype)
        if len(axes) == 1:
            return ops.layer_norm(x, gamma, beta, axes[0], self.epsilon)
        rest = [axis for axis in range(len(x.shape)) if axis not in axes]
        order = (*rest, *axes)
        transposed = ops.transpose(x, order)
        rows = ops.reshape(transposed, (*(x.shape[axis] for axis in rest), count))
        y = ops.reshape(ops.layer_norm(rows, gamma, beta, -1, self.epsilon), transposed.shape)
        return ops.transpose(y, tuple(order.index(axis) for axis in range(len(order))))

    def scale_and_shift(self, params: Values, y: Value) -> Value:
        """Returns gamma y + beta."""
        axes = self.axes_of(y.shape[1:])
        shape = tuple(n if axis in axes else 1 for axis, n in enumerate(y.shape[1:]))
        y = ops.mul(y, ops.reshape(params["gamma"], (1, *shape))) if self.scale else y
        return ops.add(y, ops.reshape(params["beta"], (1, *shape))) if self.shift else y


def normalize_steps(x: Value, mask: Value, axes: list[int], epsilon: float) -> Value:
    """Normalizes x (N, T, F) to mean 0 and variance 1 along `axes`, over existing steps.

    Other steps become 0. `axes` includes that of T, and counts the batch axis.
    """
    along, features = tuple(axes), x.shape[2] if 2 in axes else 1
    steps = ops.sum(over_features(mask), (1,), keepdims=True)
    count = ops.maximum(ops.mul(steps, float(features)), 1.0)
    mean = ops.div(ops.sum(fill_padding(x, mask), along, keepdims=True), count)
    away = fill_padding(ops.sub(x, mean), mask)
    variance = ops.div(ops.sum(ops.square(away), along, keepdims=True), count)
    return ops.div(away, ops.sqrt(ops.add(variance, epsilon)))


def flat(values: Value) -> Value:
    return ops.reshape(values, (-1,))
