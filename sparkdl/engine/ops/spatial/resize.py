"""Resizing of sequences, images and volumes, by nearest neighbor or linear interpolation."""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.spatial.window import KINDS, numbers
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class ResizingOp(Op):
    """Resizing to the lengths `space`, with numbers at the centers of cells of equal width.

    Number i of the result lies at (i + 1/2) from / to - 1/2 of the source.
    """

    floating = True
    space: tuple[int, ...]
    linear: bool = False

    def shape(self, x):
        if len(x.shape) != len(self.space) + 2:
            kind = KINDS[len(self.space)]
            raise ShapeError(f"{self.kind} takes {kind}, got {tuple(x.shape)}")
        if min((*self.space, *x.shape[2:])) < 1:
            raise ShapeError(f"resize of {tuple(x.shape)} to {self.space} has no numbers to take")
        return Spec((*x.shape[:2], *self.space), x.dtype)


@register
@dataclass(frozen=True)
class ResizeOp(ResizingOp):
    """x (N, C, ...) resized to the lengths `space`."""

    def reference(self, x):
        for axis, length in enumerate(self.space, 2):
            x = along(x, axis, weights(x.shape[axis], length, self.linear, x.dtype))
        return x

    def gradient(self, gy, x, y):
        return (ResizeGradOp(tuple(x.shape[2:]), self.linear)(gy),)


@register
@dataclass(frozen=True)
class ResizeGradOp(ResizingOp):
    """The transpose of ResizeOp: gy (N, C, ...) back to the original lengths `space`."""

    def reference(self, gy):
        for axis, length in enumerate(self.space, 2):
            gy = along(gy, axis, weights(length, gy.shape[axis], self.linear, gy.dtype).T)
        return gy

    def gradient(self, gz, gy, z):
        return (ResizeOp(tuple(gy.shape[2:]), self.linear)(gz),)


def along(x, axis, matrix):
    """Multiplies x by a matrix (to, from) along an axis."""
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)


def weights(source, target, linear, dtype):
    """Returns the weight of each source number in each target number, (target, source)."""
    place = (np.arange(target) + 0.5) * source / target
    cells = np.arange(source)
    if not linear:
        return (np.floor(place)[:, None] == cells).astype(dtype)
    place = np.clip(place - 0.5, 0, source - 1)
    return np.maximum(1 - np.abs(place[:, None] - cells), 0).astype(dtype)


def resize(x, space, linear=False):
    """Resizes x (N, C, ...) along its spatial axes."""
    return ResizeOp(numbers(space, len(x.shape) - 2), bool(linear))(x)
