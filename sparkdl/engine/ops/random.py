"""Random numbers as operations: a function of the example, not of where or when it is processed."""

from math import prod
from typing import ClassVar

import numpy as np

from sparkdl import philox
from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, register
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class DrawOp(Op):
    """Numbers of shape `to` per example.

    They are Philox numbers that depend on (seed, stream, id, epoch, element) alone.

    Shapes
    ------
    ids (batch,) uint64, epoch () integer; y (batch, *to) float32
    """

    to: tuple[int, ...]
    seed: int
    stream: int

    source: ClassVar = None

    def shape(self, ids, epoch):
        if len(ids.shape) != 1 or epoch.shape != ():
            name = self.kind.lower()
            raise ShapeError(
                f"{name} takes ids (batch,) and one epoch, got {ids.shape}, {epoch.shape}"
            )
        return Spec((*ids.shape, *self.to))

    def reference(self, ids, epoch):
        numbers = self.source(ids, int(epoch), prod(self.to), self.seed, self.stream)
        return numbers.reshape(len(ids), *self.to)

    def gradient(self, gy, ids, epoch, y):
        return None, None


@register
class UniformOp(DrawOp):
    """Numbers in [0, 1)."""

    source = staticmethod(philox.uniform)


@register
class NormalOp(DrawOp):
    """Normally distributed numbers with mean 0 and variance 1."""

    source = staticmethod(philox.normal)


def uniform(ids, epoch, shape, seed, stream):
    """Returns (batch, *shape) numbers in [0, 1) that depend on nothing but the arguments."""
    return UniformOp(tuple(shape), int(seed), int(stream))(np_or_tensor(ids), np_or_tensor(epoch))


def normal(ids, epoch, shape, seed, stream):
    """Returns (batch, *shape) normal numbers that depend on nothing but the arguments."""
    return NormalOp(tuple(shape), int(seed), int(stream))(np_or_tensor(ids), np_or_tensor(epoch))


def np_or_tensor(value):
    return value if hasattr(value, "dtype") else np.asarray(value, np.uint64)
