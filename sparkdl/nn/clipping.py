"""Gradient clipping: what is done with gradients that are too large."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_positive
from sparkdl.nn.config import Member
from sparkdl.nn.layout import cut


@dataclass(frozen=True, kw_only=True)
class Clipping(Member):
    """Base of all ways to clip.

    Parameters
    ----------
    limit : float
        Above 0.
    """

    limit: float

    def __post_init__(self):
        super().__post_init__()
        require(self, "limit", is_positive(self.limit), "a number above 0")

    def clip(self, grad, layout):
        """The clipped gradient: `grad` (n,) is an array or Tensor, `layout` that of the params."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ClipValue(Clipping):
    """Each number is kept within -limit and limit."""

    def clip(self, grad, layout):
        return ops.minimum(ops.maximum(grad, -self.limit), self.limit)


@dataclass(frozen=True, kw_only=True)
class ClipNorm(Clipping):
    """The gradient of the whole network is scaled down to an L2 norm of `limit`, if above it.

    References
    ----------
    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks (2013),
    algorithm 1. Caffe's clip_gradients, optax's clip_by_global_norm.
    """

    def clip(self, grad, layout):
        return scaled_down(grad, self.limit)


@dataclass(frozen=True, kw_only=True)
class ClipLayerNorm(Clipping):
    """The gradient of each layer is scaled down to an L2 norm of `limit`, if above it."""

    def clip(self, grad, layout):
        parts = [cut(grad, part) for part in layout.split_by_layer.values()]
        return ops.concat([scaled_down(part, self.limit) for part in parts]) if parts else grad


def scaled_down(grad, limit):
    """`grad` with an L2 norm of at most `limit`."""
    norm = ops.sqrt(ops.sum(ops.square(grad)))
    return ops.mul(grad, ops.div(limit, ops.maximum(norm, limit)))
