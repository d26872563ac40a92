"""Normalisation with the statistics of the batch."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.checks import is_positive, is_share
from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class BatchNorm(Layer):
    """y = gamma (x - mean) / sqrt(variance + epsilon) + beta, per channel or feature.

    While training, mean and variance are those of the batch (the biased variance), and the buffers
    follow them: running <- momentum running + (1 - momentum) batch. In use, they are the buffers.

    Parameters
    ----------
    momentum : float
        Share of the old running value kept at each batch, in [0, 1); PyTorch's is 1 minus this.
    epsilon : float
        Above 0.

    Shapes
    ------
    x, y (batch, C, H, W) or (batch, C); gamma, beta, mean, variance (C,)

    References
    ----------
    Ioffe and Szegedy, Batch normalization (2015), algorithm 1. The running variance is Keras';
    PyTorch's and Caffe's is the unbiased one, n / (n - 1) times as large.
    """

    momentum: float = 0.9
    epsilon: float = 1e-5

    def __post_init__(self):
        super().__post_init__()
        require(self, "momentum", is_share(self.momentum), "in [0, 1)")
        require(self, "epsilon", is_positive(self.epsilon), "a number above 0")

    def out_shape(self, in_shape):
        if len(in_shape) not in (1, 3):
            raise ShapeError(
                f"BatchNorm takes rows (n,) or images (channels, height, width), got {in_shape}"
            )
        return in_shape

    def param_shapes(self, in_shape):
        return {"gamma": in_shape[:1], "beta": in_shape[:1]}

    def buffer_shapes(self, in_shape):
        return {"mean": in_shape[:1], "variance": in_shape[:1]}

    def initial(self, name, shape, rng):
        return np.ones(shape) if name in ("gamma", "variance") else np.zeros(shape)

    def forward(self, params, x, run):
        gamma, beta, old = params["gamma"], params["beta"], run.buffers
        if not run.training:
            return ops.normalize(x, gamma, beta, old["mean"], old["variance"], self.epsilon)
        y, mean, variance = ops.batch_norm(x, gamma, beta, self.epsilon)
        for name, new in {"mean": mean, "variance": variance}.items():
            run.update(name, self.momentum * old[name] + (1 - self.momentum) * new)
        return y
