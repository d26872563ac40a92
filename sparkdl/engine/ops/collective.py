"""Collective operations of processes that run one program and split its work.

A group has `rank` and `size`; `all_reduce(x, how)` replaces a float32 array by its "sum" or "max"
over the processes, bit-identical in all, and `all_gather(x)` returns (size, *x.shape). All
processes run these operations in the same order. A tensor that is equal in all processes is called
whole; others are partitioned, or terms of a sum. The gradient of a whole tensor is the sum of the
gradients in all processes.

References
----------
Shoeybi et al., Megatron-LM: training multi-billion parameter language models using model
parallelism (2019), section 3.
"""

from typing import Any

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.shape import slice
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class CollectiveOp(Op):
    """Base of the collective operations, which run on processors only."""

    group: Any

    def shape(self, x):
        if x.dtype != "float32":
            raise ShapeError(f"{self.kind} needs float32, got {x.dtype}")
        return x


@dataclass(frozen=True)
class CopyToOp(CollectiveOp):
    """The identity on a whole tensor that each process uses differently: gradients are summed."""

    view = True

    def reference(self, x):
        return x

    def gradient(self, gy, x, y):
        return (reduce_from(gy, self.group),)


@dataclass(frozen=True)
class ReduceFromOp(CollectiveOp):
    """The sum over all processes, a whole tensor."""

    how = "sum"

    def reference(self, x):
        y = np.empty(x.shape, x.dtype)
        self.into(y, x)
        return y

    def into(self, y, x):
        flat = np.array(x, order="C")
        np.copyto(y, self.group.all_reduce(flat, self.how))

    def gradient(self, gy, x, y):
        return (gy,)


@dataclass(frozen=True)
class MaximumFromOp(ReduceFromOp):
    """The maximum over all processes; gradients treat it as a constant."""

    how = "max"

    def gradient(self, gy, x, y):
        return (None,)


@dataclass(frozen=True)
class GatherFromOp(CollectiveOp):
    """The parts of all processes concatenated along the last axis, a whole tensor."""

    def shape(self, x):
        super().shape(x)
        return Spec((*x.shape[:-1], x.shape[-1] * self.group.size), x.dtype)

    def reference(self, x):
        y = np.empty(self.shape(Spec(x.shape, x.dtype.name)).shape, x.dtype)
        self.into(y, x)
        return y

    def into(self, y, x):
        parts = np.moveaxis(self.group.all_gather(np.ascontiguousarray(x)), 0, -2)
        np.copyto(y, parts.reshape(y.shape))

    def gradient(self, gy, x, y):
        return (own_part(gy, self.group),)


def copy_to(x, group):
    return CopyToOp(group)(x)


def reduce_from(x, group):
    return ReduceFromOp(group)(x)


def maximum_from(x, group):
    return MaximumFromOp(group)(x)


def gather_from(x, group):
    return GatherFromOp(group)(x)


def own_part(x, group, axis=-1):
    """Returns this process's part of x along an axis, one of `group.size` equal parts."""
    axis %= len(x.shape)
    width = x.shape[axis] // group.size
    start, stop = [0] * len(x.shape), list(x.shape)
    start[axis], stop[axis] = group.rank * width, (group.rank + 1) * width
    return slice(x, tuple(start), tuple(stop))
