"""Normalization of each example along one axis, and its gradient.

References
----------
Ba, Kiros and Hinton, Layer normalization (2016), eq. 4.
"""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.elementwise import add, div, mul, sqrt, sub
from sparkdl.engine.ops.normalization import NormOp, gradient_of_statistics
from sparkdl.engine.ops.reduce import mean, reduced_shape
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import axis_of, reshape, widen
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class AlongAxisOp(NormOp):
    """Statistics along one axis (not negative), with a weight per index of it."""

    axis: int
    epsilon: float = 1e-5

    def axes(self, x):
        return (self.axis,)

    def others(self, x):
        return tuple(i for i in range(len(x.shape)) if i != self.axis)

    def wide(self, v, x):
        """Returns a statistic reshaped to broadcast over x."""
        return reshape(v, reduced_shape(x.shape, (self.axis,), True))

    def along(self, v, x):
        """Returns a weight (n,) reshaped to broadcast over x."""
        return reshape(v, reduced_shape(x.shape, self.others(x), True))


@register
@dataclass(frozen=True)
class LayerNormOp(AlongAxisOp):
    """(y, mean, variance): y is gamma times x normalized along the axis, plus beta.

    Shapes
    ------
    x, y any with n along the axis; gamma, beta (n,); mean, variance as x without the axis. The
    variance is the biased one.
    """

    def shape(self, x, gamma, beta):
        if not gamma.shape == beta.shape == (x.shape[self.axis],):
            raise ShapeError(
                f"layer_norm of {x.shape} along {self.axis} does not fit {gamma.shape}, "
                f"{beta.shape}"
            )
        if x.shape[self.axis] == 0:
            raise ShapeError(f"layer_norm needs numbers to take the mean of, got {x.shape}")
        rest = Spec(reduced_shape(x.shape, (self.axis,), False), x.dtype)
        return x, rest, rest

    def reference(self, x, gamma, beta):
        mu = x.mean(axis=self.axis)
        centered = x - self.wide(mu, x)
        var = np.square(centered).mean(axis=self.axis)
        inverse = 1 / np.sqrt(self.wide(var, x) + np.asarray(self.epsilon, x.dtype))
        return centered * inverse * self.along(gamma, x) + self.along(beta, x), mu, var

    def gradient(self, gys, x, gamma, beta, ys):
        grad = LayerNormGradOp(self.axis, self.epsilon)
        return gradient_of_statistics(self, grad, gys, x, gamma, ys)


@register
@dataclass(frozen=True)
class LayerNormGradOp(AlongAxisOp):
    """(gx, ggamma, gbeta) from gy, x, gamma, and the mean and variance of x."""

    def shape(self, gy, x, gamma, mu, var):
        return x, gamma, gamma

    def reference(self, gy, x, gamma, mu, var):
        inverse = 1 / np.sqrt(self.wide(var, x) + np.asarray(self.epsilon, x.dtype))
        hat = (x - self.wide(mu, x)) * inverse
        ghat, axis = gy * self.along(gamma, x), self.axis
        rest = ghat.mean(axis, keepdims=True) + hat * (ghat * hat).mean(axis, keepdims=True)
        others = self.others(x)
        return (ghat - rest) * inverse, (gy * hat).sum(others), gy.sum(others)

    def decompose(self, gy, x, gamma, mu, var):
        """Recomputes mean and variance from x, so that the gradient can be differentiated."""
        axis, others = self.axis, self.others(x)
        mu, var = self.statistics(x)
        hat = self.normalize(x, mu, var)
        ghat = mul(gy, self.along(gamma, x))
        rest = add(mean(ghat, axis, True), mul(hat, mean(mul(ghat, hat), axis, True)))
        gx = div(sub(ghat, rest), sqrt(add(self.wide(var, x), self.epsilon)))
        return gx, sum_along(mul(gy, hat), others), sum_along(gy, others)


def layer_norm(x, gamma, beta, axis=-1, epsilon=1e-5):
    """gamma times x normalized to mean 0 and variance 1 along `axis`, plus beta."""
    return LayerNormOp(axis_of(x, axis), float(epsilon))(x, *map(widen, (gamma, beta)))[0]
