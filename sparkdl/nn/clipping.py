"""Gradient clipping, which limits large gradients."""

from collections.abc import Callable
from typing import Any, ClassVar

from sparkdl.config import Member, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.layout import Layout, cut


@dataclass(frozen=True, kw_only=True)
class Clipping(Member):
    """Base of all ways to clip."""

    elementwise: ClassVar[bool] = False  # whether each number follows from its old value alone

    def clip(self, grad: Value, layout: Layout) -> Value:
        """Returns `grad` (n,), an array or Tensor, clipped; `layout` is that of the params."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LimitedClipping(Clipping, abstract=True):
    """Base of clippings that leave small gradients unchanged."""

    limit: float = option(Number(above=0), "Largest value allowed.")


@dataclass(frozen=True, kw_only=True)
class ClipValue(LimitedClipping):
    """Each number is kept within -limit and limit. DL4J's ClipElementWiseAbsoluteValue."""

    elementwise: ClassVar[bool] = True

    def clip(self, grad: Value, layout: Layout) -> Value:
        return ops.minimum(ops.maximum(grad, -self.limit), self.limit)


@dataclass(frozen=True, kw_only=True)
class ClipNorm(LimitedClipping):
    """The gradient of the whole network is scaled down to an L2 norm of `limit`, if above it.

    References
    ----------
    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks (2013),
    algorithm 1. Caffe's clip_gradients, optax's clip_by_global_norm.
    """

    def clip(self, grad: Value, layout: Layout) -> Value:
        return clip_norm(grad, self.limit)


@dataclass(frozen=True, kw_only=True)
class ClipLayerNorm(LimitedClipping):
    """The gradient of each layer is scaled down to an L2 norm of `limit`, if above it.

    DL4J's ClipL2PerLayer.
    """

    def clip(self, grad: Value, layout: Layout) -> Value:
        return map_parts(lambda part: clip_norm(part, self.limit), grad, layout.split_by_layer)


@dataclass(frozen=True, kw_only=True)
class ClipArrayNorm(LimitedClipping):
    """The gradient of each parameter array is scaled down to an L2 norm of `limit`, if above it.

    DL4J's ClipL2PerParamType; optax's clip_by_block_rms limits the root of the mean instead.
    """

    def clip(self, grad: Value, layout: Layout) -> Value:
        return map_parts(lambda part: clip_norm(part, self.limit), grad, layout.slices)


@dataclass(frozen=True, kw_only=True)
class UnitLayerNorm(Clipping):
    """The gradient of each layer is scaled to an L2 norm of 1, small or large.

    One of zeros stays as it is. DL4J's RenormalizeL2PerLayer.
    """

    def clip(self, grad: Value, layout: Layout) -> Value:
        return map_parts(unit_norm, grad, layout.split_by_layer)


@dataclass(frozen=True, kw_only=True)
class UnitArrayNorm(Clipping):
    """The gradient of each parameter array is scaled to an L2 norm of 1, small or large.

    One of zeros stays as it is. DL4J's RenormalizeL2PerParamType.
    """

    def clip(self, grad: Value, layout: Layout) -> Value:
        return map_parts(unit_norm, grad, layout.slices)


def map_parts(function: Callable[[Any], Any], grad: Value, slices: dict[str, slice]) -> Value:
    """Applies `function` to each part of `grad` and concatenates the results."""
    parts = [function(cut(grad, part)) for part in slices.values()]
    return ops.concat(parts) if parts else grad


def clip_norm(grad: Value, limit: float) -> Value:
    """Scales `grad` down to an L2 norm of at most `limit`."""
    return ops.mul(grad, ops.div(limit, ops.maximum(norm(grad), limit)))


def unit_norm(grad: Value) -> Value:
    """Scales `grad` to an L2 norm of 1; zeros stay zero."""
    size = norm(grad)
    return ops.div(grad, ops.where(size, size, 1.0))


def norm(x: Value) -> Value:
    return ops.sqrt(ops.sum(ops.square(x)))
