"""Operations that processes which run the same program make together, each with a part of the work.

A group has `rank` and `size`; `all_reduce(x, how)` replaces a float32 array by its "sum" or "max"
over the processes, with the same bits in all, and `all_gather(x)` returns (size, *x.shape). All
run these operations in the same order. What all have alike is whole; what each has a part of, or a
term of, is not, and a gradient of what is whole is the sum of what the processes have of it.

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
    """Base of the operations of a group, of processors alone."""

    group: Any

    def shape(self, x):
        if x.dtype != "float32":
            raise ShapeError(f"{self.kind} needs float32, got {x.dtype}")
        return x


@dataclass(frozen=True)
class CopyToOp(CollectiveOp):
    """x, which is whole, for each process to compute something else of it: gradients are summed."""

    view = True

    def reference(self, x):
        return x

    def gradient(self, gy, x, y):
        return (reduce_from(gy, self.group),)


@dataclass(frozen=True)
class ReduceFromOp(CollectiveOp):
    """The sum over processes of what each has, which all go on with in the same way."""

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
    """The largest over processes, treated as a constant by gradients."""

    how = "max"

    def gradient(self, gy, x, y):
        return (None,)


@dataclass(frozen=True)
class GatherFromOp(CollectiveOp):
    """The parts of all processes behind each other along the last axis; all go on alike."""

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
    """Returns the part of x along an axis, of `group.size` equal ones, that this process has."""
    axis %= len(x.shape)
    width = x.shape[axis] // group.size
    start, stop = [0] * len(x.shape), list(x.shape)
    start[axis], stop[axis] = group.rank * width, (group.rank + 1) * width
    return slice(x, tuple(start), tuple(stop))
