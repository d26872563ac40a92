"""Batch normalization with batch statistics, and its gradient.

References
----------
Ioffe and Szegedy, Batch normalization (2015), algorithm 1 and section 3.
"""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.autodiff import pullback
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type, register
from sparkdl.engine.ops.elementwise import add, div, mul, sqrt, square, sub
from sparkdl.engine.ops.reduce import mean
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import reshape, widen
from sparkdl.errors import ShapeError


class NormOp(Op):
    """A normalization by mean and variance over `axes(x)`, which `wide` broadcasts over x."""

    floating = True

    def statistics(self, x):
        """Returns (mean, biased variance)."""
        mu = mean(x, self.axes(x))
        return mu, mean(square(sub(x, self.wide(mu, x))), self.axes(x))

    def normalize(self, x, mu, var):
        return div(sub(x, self.wide(mu, x)), sqrt(add(self.wide(var, x), self.epsilon)))


@dataclass(frozen=True)
class PerChannelOp(NormOp):
    """Statistics per channel: over all axes but 1."""

    epsilon: float = 1e-5

    def axes(self, x):
        return tuple(i for i in range(len(x.shape)) if i != 1)

    def check(self, x, gamma, beta):
        """Raises ShapeError unless gamma and beta have one number per channel."""
        if len(x.shape) < 2 or not gamma.shape == beta.shape == x.shape[1:2]:
            raise ShapeError(f"batch_norm of {x.shape} does not fit {gamma.shape}, {beta.shape}")

    def wide(self, v, x):
        """Returns v (C,) reshaped to broadcast over x."""
        return reshape(v, tuple(x.shape[1] if i == 1 else 1 for i in range(len(x.shape))))


@register
@dataclass(frozen=True)
class BatchNormOp(PerChannelOp):
    """(y, mean, variance): y is gamma times x normalized per channel, plus beta.

    Shapes
    ------
    x, y (N, C, ...); gamma, beta, mean, variance (C,). The variance is the biased one.
    """

    def shape(self, x, gamma, beta):
        self.check(x, gamma, beta)
        if x.size == 0:
            raise ShapeError(f"batch_norm needs numbers to take the mean of, got {x.shape}")
        statistic = Spec(gamma.shape, common_type(x, gamma))
        return x, statistic, statistic

    def reference(self, x, gamma, beta):
        mu = x.mean(axis=self.axes(x))
        centered = x - self.wide(mu, x)
        var = np.square(centered).mean(axis=self.axes(x))
        scale = gamma / np.sqrt(var + np.asarray(self.epsilon, x.dtype))
        return centered * self.wide(scale, x) + self.wide(beta, x), mu, var

    def gradient(self, gys, x, gamma, beta, ys):
        return gradient_of_statistics(self, BatchNormGradOp(self.epsilon), gys, x, gamma, ys)


@register
@dataclass(frozen=True)
class BatchNormGradOp(PerChannelOp):
    """(gx, ggamma, gbeta) from gy, x, gamma, and the batch's mean and variance."""

    def shape(self, gy, x, gamma, mu, var):
        return x, gamma, gamma

    def reference(self, gy, x, gamma, mu, var):
        axes, count = self.axes(x), prod(x.shape) // x.shape[1]
        inverse = 1 / np.sqrt(var + np.asarray(self.epsilon, x.dtype))
        hat = (x - self.wide(mu, x)) * self.wide(inverse, x)
        gbeta, ggamma = gy.sum(axis=axes), (gy * hat).sum(axis=axes)
        rest = self.wide(gbeta / count, x) + hat * self.wide(ggamma / count, x)
        return (gy - rest) * self.wide(gamma * inverse, x), ggamma, gbeta

    def decompose(self, gy, x, gamma, mu, var):
        """Recomputes mean and variance from x, so that the gradient can be differentiated."""
        axes = self.axes(x)
        mu, var = self.statistics(x)
        hat = self.normalize(x, mu, var)
        ghat = mul(gy, hat)
        rest = add(self.wide(mean(gy, axes), x), mul(hat, self.wide(mean(ghat, axes), x)))
        scale = div(gamma, sqrt(add(var, self.epsilon)))
        gx = mul(sub(gy, rest), self.wide(scale, x))
        return gx, sum_along(ghat, axes), sum_along(gy, axes)


@register
@dataclass(frozen=True)
class NormalizeOp(PerChannelOp):
    """gamma (x - mean) / sqrt(variance + epsilon) + beta, with given statistics.

    Shapes
    ------
    x, y (N, C, ...); gamma, beta, mean, variance (C,)
    """

    def shape(self, x, gamma, beta, mu, var):
        self.check(x, self.same(gamma, mu, var), beta)
        return x

    def decompose(self, x, gamma, beta, mu, var):
        scale = div(gamma, sqrt(add(var, self.epsilon)))
        centered = sub(x, self.wide(mu, x))
        return add(mul(centered, self.wide(scale, x)), self.wide(beta, x))


def gradient_of_statistics(op, grad, gys, x, gamma, ys):
    """Returns the gradients of (y, mean, variance): y's by `grad`, plus the statistics'."""
    gy, gmean, gvariance = gys
    grads = (None, None, None) if gy is None else grad(gy, x, gamma, ys[1], ys[2])
    if gmean is None and gvariance is None:
        return grads
    more = pullback(op.statistics, (x,), (gmean, gvariance))[0]
    return (more if grads[0] is None else add(grads[0], more), *grads[1:])


def batch_norm(x, gamma, beta, epsilon=1e-5):
    """Returns (y, mean, variance) with the statistics of this batch, per channel (axis 1)."""
    return BatchNormOp(float(epsilon))(x, *map(widen, (gamma, beta)))


def normalize(x, gamma, beta, mu, var, epsilon=1e-5):
    """Batch normalization with given statistics, as in inference."""
    return NormalizeOp(float(epsilon))(x, *map(widen, (gamma, beta, mu, var)))
