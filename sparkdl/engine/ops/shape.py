"""Rearrangement: reshape, transpose, broadcast, slice, concatenate, pad, cast."""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.dtypes import computing_dtype, is_float, name_of
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type, register
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class ReshapeOp(Op):
    """The elements in the same order in another shape."""

    view = True
    to: tuple[int, ...]

    def shape(self, x):
        if prod(self.to) != x.size:
            raise ShapeError(f"reshape needs {x.size} elements for {x.shape}, got {self.to}")
        return Spec(self.to, x.dtype)

    def reference(self, x):
        return x.reshape(self.to)

    def gradient(self, gy, x, y):
        return (reshape(gy, x.shape),)


@register
@dataclass(frozen=True)
class TransposeOp(Op):
    """Permuted axes: axis i of the output is axis `axes[i]` of x."""

    axes: tuple[int, ...]

    def shape(self, x):
        if sorted(self.axes) != list(range(len(x.shape))):
            raise ShapeError(f"transpose of {x.shape} needs each axis once, got {self.axes}")
        return Spec(tuple(x.shape[a] for a in self.axes), x.dtype)

    def reference(self, x):
        return x.transpose(self.axes)

    def gradient(self, gy, x, y):
        return (transpose(gy, tuple(int(a) for a in np.argsort(self.axes))),)


@register
@dataclass(frozen=True)
class BroadcastToOp(Op):
    """x repeated along axes of length 1 and new leading axes."""

    to: tuple[int, ...]

    def shape(self, x):
        try:
            fits = np.broadcast_shapes(x.shape, self.to) == self.to
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(f"cannot broadcast {x.shape} to {self.to}")
        return Spec(self.to, x.dtype)

    def reference(self, x):
        return np.broadcast_to(x, self.to)

    def gradient(self, gy, x, y):
        return (sum_to(gy, x.shape),)


@register
@dataclass(frozen=True)
class SumToOp(Op):
    """The sum over broadcast axes: the transpose of BroadcastToOp."""

    to: tuple[int, ...]

    def shape(self, x):
        BroadcastToOp(x.shape).shape(Spec(self.to, x.dtype))
        return Spec(self.to, x.dtype)

    def reference(self, x):
        lead = x.ndim - len(self.to)
        axes = [i + lead for i, n in enumerate(self.to) if n == 1 and x.shape[i + lead] != 1]
        return x.sum(axis=(*range(lead), *axes), keepdims=True).reshape(self.to)

    def gradient(self, gy, x, y):
        return (broadcast_to(gy, x.shape),)


@register
@dataclass(frozen=True)
class SliceOp(Op):
    """x[starts[0]:stops[0], starts[1]:stops[1], ...]"""

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    def shape(self, x):
        bounds = list(zip(self.starts, self.stops, x.shape, strict=False))
        if len(self.starts) != len(x.shape) or any(not 0 <= a <= b <= n for a, b, n in bounds):
            raise ShapeError(f"slice {self.starts} to {self.stops} does not lie within {x.shape}")
        return Spec(tuple(b - a for a, b, _ in bounds), x.dtype)

    def reference(self, x):
        return x[tuple(slice_(a, b) for a, b in zip(self.starts, self.stops, strict=True))]

    def gradient(self, gy, x, y):
        after = tuple(n - b for n, b in zip(x.shape, self.stops, strict=True))
        return (pad(gy, self.starts, after),)


@register
@dataclass(frozen=True)
class PadOp(Op):
    """x padded with zeros."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def shape(self, x):
        if not len(self.before) == len(self.after) == len(x.shape):
            raise ShapeError(f"pad of {x.shape} needs a width per axis, got {self.before}")
        if min((*self.before, *self.after), default=0) < 0:
            raise ShapeError(f"pad needs widths >= 0, got {self.before} and {self.after}")
        widths = zip(self.before, x.shape, self.after, strict=True)
        return Spec(tuple(a + n + b for a, n, b in widths), x.dtype)

    def reference(self, x):
        return np.pad(x, tuple(zip(self.before, self.after, strict=True)))

    def into(self, y, x):
        y[...] = 0
        np.copyto(y[tuple(slice_(a, a + n) for a, n in zip(self.before, x.shape, strict=True))], x)

    def gradient(self, gy, x, y):
        stops = tuple(a + n for a, n in zip(self.before, x.shape, strict=True))
        return (slice(gy, self.before, stops),)


@register
@dataclass(frozen=True)
class ConcatOp(Op):
    """Arrays concatenated along an axis."""

    axis: int

    def shape(self, *xs):
        others = {(*x.shape[: self.axis], *x.shape[self.axis + 1 :]) for x in xs}
        if len(others) != 1 or len({len(x.shape) for x in xs}) != 1:
            raise ShapeError(f"concat along {self.axis} cannot join {[x.shape for x in xs]}")
        joined = builtin_sum(x.shape[self.axis] for x in xs)
        first = xs[0].shape
        return Spec((*first[: self.axis], joined, *first[self.axis + 1 :]), common_type(*xs))

    def reference(self, *xs):
        return np.concatenate(xs, axis=self.axis)

    def into(self, y, *xs):
        np.concatenate(xs, axis=self.axis, out=y)

    def gradient(self, gy, *xs_and_y):
        grads, start = [], 0
        for x in xs_and_y[:-1]:
            stop = start + x.shape[self.axis]
            starts = [0] * len(x.shape)
            stops = list(x.shape)
            starts[self.axis], stops[self.axis] = start, stop
            grads.append(slice(gy, tuple(starts), tuple(stops)))
            start = stop
        return tuple(grads)


@register
@dataclass(frozen=True)
class CastOp(Op):
    """The same values in another type."""

    dtype: str

    def shape(self, x):
        return Spec(x.shape, self.dtype)

    def reference(self, x):
        return x.astype(self.dtype)

    def gradient(self, gy, x, y):
        return (cast(gy, x.dtype) if is_float(x.dtype) else None,)


@register
@dataclass(frozen=True)
class CopyOp(Op):
    """A copy of x."""

    def shape(self, x):
        return x

    def reference(self, x):
        return x.copy()

    def gradient(self, gy, x, y):
        return (gy,)


@register
@dataclass(frozen=True)
class StopGradientOp(Op):
    """x, treated as a constant by gradients."""

    view = True

    def shape(self, x):
        return x

    def reference(self, x):
        return x

    def gradient(self, gy, x, y):
        return (None,)


@register
@dataclass(frozen=True)
class BarrierOp(Op):
    """x, computed after all the others: nothing that reads the result runs before them."""

    view = True

    def shape(self, x, *others):
        return x

    def reference(self, x, *others):
        return x

    def gradient(self, gy, x, *others_and_y):
        return gy, *(None for _ in others_and_y[:-1])


slice_, builtin_sum = slice, sum
copy, stop_gradient, barrier = CopyOp(), StopGradientOp(), BarrierOp()


def axis_of(x, axis):
    """Returns `axis` counted from the front.

    Raises
    ------
    ShapeError if x has no such axis: a remainder would silently select another.
    """
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} does not exist in {tuple(x.shape)}")
    return axis % rank


def reshape(x, shape):
    """Returns x in another shape; one length may be -1 and is inferred."""
    shape = tuple(int(n) for n in shape)
    if -1 in shape:
        known = prod(n for n in shape if n != -1)
        shape = tuple(prod(x.shape) // max(known, 1) if n == -1 else n for n in shape)
    return x if tuple(x.shape) == shape else ReshapeOp(shape)(x)


def transpose(x, axes):
    """Returns x with permuted axes: axis i of the output is axis `axes[i]` of x."""
    axes = tuple(axes)
    return x if axes == tuple(range(len(x.shape))) else TransposeOp(axes)(x)


def broadcast_to(x, shape):
    """Broadcasts x to `shape`, by numpy's rules."""
    return x if tuple(x.shape) == tuple(shape) else BroadcastToOp(tuple(shape))(x)


def sum_to(x, shape):
    """Sums x over the axes along which `shape` would be broadcast to it."""
    return x if tuple(x.shape) == tuple(shape) else SumToOp(tuple(shape))(x)


def slice(x, starts, stops):
    """Returns the box from `starts` (included) to `stops` (excluded), one number per axis."""
    starts, stops = tuple(starts), tuple(stops)
    unchanged = starts == (0,) * len(starts) and stops == tuple(x.shape)
    return x if unchanged else SliceOp(starts, stops)(x)


def pad(x, before, after):
    """Pads x with `before[i]` zeros in front of axis i and `after[i]` behind it."""
    before, after = tuple(before), tuple(after)
    return PadOp(before, after)(x) if any((*before, *after)) else x


def concat(xs, axis=0):
    """Concatenates arrays along `axis`."""
    if not xs:
        raise ShapeError("concat needs at least one array")
    return ConcatOp(axis_of(xs[0], axis))(*xs)


def cast(x, dtype):
    """Casts x to another type."""
    name = name_of(dtype)
    return x if name_of(x.dtype) == name else CastOp(name)(x)


def widen(x):
    """Casts x to its type of computation: float32 for narrow floats."""
    return cast(x, computing_dtype(x.dtype))
