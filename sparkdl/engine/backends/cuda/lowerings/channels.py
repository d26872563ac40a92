"""Sums over the numbers of each channel, by kernels that read them once."""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import parts_needed, walks
from sparkdl.engine.dtypes import computing_dtype
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.normalization import PerChannelOp

THREADS, LANES = 256, 32
EACH = 8  # least numbers per thread before blocks share a channel


@dataclass(frozen=True)
class MomentsOp(PerChannelOp):
    """Mean and biased variance (C,) of x (N, C, ...), in the type of computation."""

    def shape(self, x):
        return (Spec(x.shape[1:2], computing_dtype(x.dtype)),) * 2


@dataclass(frozen=True)
class SlopesOp(PerChannelOp):
    """(sum of gy, sum of gy x^) (C,), x^ = (x - mean) / sqrt(variance + epsilon), in their type."""

    def shape(self, gy, x, mean, variance):
        return mean, mean


def moments(session, op, x, mean, variance):
    job = ChannelJob(session, x)
    partial_moments = session.scratch(job.parts * job.channels * 3 * mean.itemsize)
    along = walks(x[:, 0])
    first = job.launch("moments", *along, x.strides[1], *job.share, x, partial_moments)
    return [first, job.join("moments_joined", partial_moments, mean, variance)], "moments"


def slopes(session, op, gy, x, mean, variance, total, product):
    job = ChannelJob(session, x, gy)
    partial_slopes = session.scratch(job.parts * job.channels * 2 * mean.itemsize)
    along = walks(x[:, 0], gy[:, 0])
    epsilon = mean.dtype.type(op.epsilon)
    arguments = *job.share, epsilon, gy, x, mean, variance, partial_slopes
    first = job.launch("slopes", *along, x.strides[1], gy.strides[1], *arguments)
    return [first, job.join("slopes_joined", partial_slopes, total, product)], "slopes"


class ChannelJob:
    """The split of the numbers of channels among blocks and threads."""

    def __init__(self, session, x, gy=None):
        gy = x if gy is None else gy
        self.session, self.types = session, {"T": x.dtype.name, "G": gy.dtype.name}
        self.channels = x.shape[1]
        length = prod(x.shape) // self.channels
        dense = x.strides[1] == x.itemsize
        self.lanes = min(LANES, 1 << (self.channels - 1).bit_length()) if dense else 1
        self.blocks = -(-self.channels // self.lanes)
        target = 4 * session.device.driver.properties.processors // self.blocks
        largest = min(target, length // (THREADS // self.lanes * EACH))
        self.parts = parts_needed(length, max(1, largest))
        self.share = [np.uint32(n) for n in (self.channels, length, -(-length // self.parts))]
        self.share.append(np.uint32(self.lanes))

    def launch(self, name, *values, parts=None):
        function = self.session.family("channels.cu", name, **self.types)
        grid = self.blocks, self.parts if parts is None else parts
        return self.session.launch(function, grid, THREADS, *values)

    def join(self, name, *arrays):
        sizes = (np.uint32(n) for n in (self.channels, self.parts, self.lanes))
        return self.launch(name, *sizes, *arrays, parts=1)
