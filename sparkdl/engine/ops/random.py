"""Random numbers as an operation: a function of the example, not of where or when it is seen."""

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
    """Numbers of shape `to` for each example.

    They are Philox of (seed, stream, id, epoch, element) and of nothing else.

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
    """Numbers with mean 0 and variance 1, normally distributed."""

    source = staticmethod(philox.normal)


def uniform(ids, epoch, shape, seed, stream):
    """(batch, *shape) numbers in [0, 1) that depend on seed, stream, ids and epoch alone."""
    return UniformOp(tuple(shape), int(seed), int(stream))(np_or_tensor(ids), np_or_tensor(epoch))


def normal(ids, epoch, shape, seed, stream):
    """(batch, *shape) normal numbers that depend on seed, stream, ids and epoch alone."""
    return NormalOp(tuple(shape), int(seed), int(stream))(np_or_tensor(ids), np_or_tensor(epoch))


def np_or_tensor(value):
    return value if hasattr(value, "dtype") else np.asarray(value, np.uint64)
