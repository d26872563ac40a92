"""Normalization of groups of channels of each example."""

from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.config import Boolean, Integer, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.channels import broadcast_channels, channels_of
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.normalization.layer_norm import normalize_steps


@dataclass(frozen=True, kw_only=True)
class GroupNorm(TrainableLayer):
    """y = gamma (x - mean) / sqrt(variance + epsilon) + beta, with the statistics of each group.

    A group is C / groups neighboring channels of an example, at all places or steps. Steps that a
    mask leaves out do not count. With as many groups as channels it is instance normalization.

    Shapes
    ------
    x, y (batch, C), (batch, T, C), (batch, C, H, W) or (batch, C, D, H, W); gamma, beta (C,)

    References
    ----------
    Wu and He, Group normalization (2018), eq. 7. The numbers are those of PyTorch and Keras (whose
    epsilon is 1e-3).
    """

    biases: ClassVar[tuple[str, ...]] = ("beta",)

    groups: int = option(Integer(minimum=1), "Number of groups, which divides that of channels.")
    epsilon: float = option(Number(above=0), "Number added to the variance.", default=1e-5)
    scale: bool = option(Boolean(), "Whether to scale by a gamma.", default=True)
    shift: bool = option(Boolean(), "Whether to add a beta.", default=True)

    def mixes_steps(self, in_shape: Shape) -> bool:
        return len(in_shape) == 2

    def out_shape(self, in_shape: Shape) -> Shape:
        if not in_shape or channels_of(in_shape)[0] % self.groups:
            raise ShapeError(
                f"GroupNorm of {self.groups} groups needs a multiple of {self.groups} channels, "
                f"got {in_shape}"
            )
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        flags = {"gamma": self.scale, "beta": self.shift}
        return {name: channels_of(in_shape) for name, flag in flags.items() if flag}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.ones(shape) if name == "gamma" else np.zeros(shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        y = self.normalize_sequences(x, run) if len(x.shape) == 3 else self.normalize(x)
        y = ops.mul(y, broadcast_channels(params["gamma"], y)) if self.scale else y
        return ops.add(y, broadcast_channels(params["beta"], y)) if self.shift else y

    def normalize(self, x: Value) -> Value:
        """Brings the groups of x (N, C, ...) to mean 0 and variance 1."""
        count, dtype = prod(x.shape[1:]) // self.groups, computing_dtype(x.dtype)
        rows = ops.reshape(x, (x.shape[0], self.groups, count))
        one, zero = np.ones(count, dtype), np.zeros(count, dtype)
        return ops.reshape(ops.layer_norm(rows, one, zero, -1, self.epsilon), x.shape)

    def normalize_sequences(self, x: Value, run: Run) -> Value:
        """Does the same for x (N, T, C), over the steps that exist."""
        n, steps, channels = x.shape
        apart = (n, self.groups, steps, channels // self.groups)
        split = ops.reshape(x, (n, steps, self.groups, channels // self.groups))
        groups = ops.transpose(split, (0, 2, 1, 3))
        if run.mask is None:
            y = self.normalize(groups)
        else:
            mask = ops.reshape(run.mask, (n, 1, steps))
            mask = ops.reshape(ops.broadcast_to(mask, apart[:3]), (n * self.groups, steps))
            groups = ops.reshape(groups, (n * self.groups, *apart[2:]))
            y = ops.reshape(normalize_steps(groups, mask, [1, 2], self.epsilon), apart)
        return ops.reshape(ops.transpose(y, (0, 2, 1, 3)), x.shape)
