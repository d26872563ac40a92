"""Sums and maxima along axes: one launch, or two for few results of many numbers each."""

from math import gcd, prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import (
    WIDEST,
    parts_needed,
    require_few_numbers,
    together,
    walk,
)
from sparkdl.engine.dtypes import is_float

THREADS = 256
EACH = 8  # least numbers per thread before blocks share a result
FEW = 4  # adjacent results for which reads are too narrow


def sum_along(session, op, x, y):
    return reduction_calls(session, x, y, op.axes)


def max_along(session, op, x, y):
    return reduction_calls(session, x, y, op.axes, maximum=True)


def sum_to(session, op, x, y):
    """Sums over the axes that a broadcast repeated."""
    lead = x.ndim - y.ndim
    repeated = [i + lead for i, n in enumerate(y.shape) if n == 1 and x.shape[i + lead] != 1]
    return reduction_calls(session, x, y, (*range(lead), *repeated))


def reduction_calls(session, x, y, along, maximum=False):
    """Returns calls that fill y, whose axes are those of x; `along` are left out or of length 1."""
    require_few_numbers(x)
    kept = [a for a in range(x.ndim) if a not in along]
    places = y.strides if y.ndim == len(kept) else [y.strides[a - x.ndim] for a in kept]
    beside = dict(zip(kept, places, strict=True))
    order = sorted(range(x.ndim), key=lambda a: -x.strides[a])
    kept = together([(x.shape[a], x.strides[a], beside[a]) for a in order if a in beside])
    along = together([(x.shape[a], x.strides[a]) for a in order if a not in beside])
    job = ReductionJob(session, x, y, kept, along, maximum)
    return job.calls(), "reduce"


class ReductionJob:
    """A reduction: [size, stride in x, stride in y] per kept axis, [size, stride] per other."""

    def __init__(self, session, x, y, kept, along, maximum):
        self.session, self.x, self.y, self.kept, self.along = session, x, y, kept, along
        self.maximum, self.results = maximum, prod(size for size, *_ in kept)
        self.length = prod(size for size, _ in along)

    def calls(self):
        if not self.results:
            return []
        if self.lie_together():
            return self.calls_together()
        lanes = self.lanes()
        parts = self.parts(lanes)
        if parts == 1:
            return [self.launch(self.x, self.y, self.kept, self.along, lanes)]
        kind = accumulator(self.x, self.y)
        size = np.dtype(kind).itemsize
        scratch = self.session.scratch(parts * self.results * size)
        dense = [[self.results, size, size]]
        first = [[n, step, step_of] for (n, step, _), step_of in zip(self.kept, self.behind(size))]
        between = [[parts, self.results * size]]
        last = [[n, behind, to] for (n, _, to), behind in zip(self.kept, self.behind(size))]
        return [
            self.launch(self.x, scratch, first or dense, self.along, lanes, parts, writes=kind),
            self.launch(scratch, self.y, last or dense, between, 32, reads=kind),
        ]

    def lie_together(self):
        """Returns whether adjacent numbers, which a thread reads at once, have adjacent results."""
        size, v = self.x.itemsize, WIDEST // self.x.itemsize
        if [len(self.kept), len(self.along)] != [1, 1] or self.x.address % WIDEST or v < 2:
            return False
        [[count, step, _]], [[length, apart]] = self.kept, self.along
        return step == size and count % v == 0 and apart % WIDEST == 0 and length >= THREADS

    def calls_together(self):
        """Returns calls of `reduce_together`, and of `reduce` to combine the blocks' results."""
        v, kind = WIDEST // self.x.itemsize, accumulator(self.x, self.y)
        size, packs = np.dtype(kind).itemsize, self.results // v
        lanes = gcd(packs, 32)
        lanes = lanes if lanes >= FEW else min(32, power(packs))
        blocks = -(-packs // lanes)
        parts = self.parts_of(blocks, lanes)
        scratch = self.session.scratch(parts * self.results * size)
        types = {"T": self.x.dtype.name, "A": kind, "V": v, "MAXIMUM": int(self.maximum)}
        function = self.session.family("reduce_together.cu", "reduce_together", **types)
        share = -(-self.length // parts)
        numbers = (np.uint32(n) for n in (self.results, self.length, share, lanes))
        step = self.along[0][1] // self.x.itemsize
        values = step, *numbers, self.x, scratch
        first = self.session.launch(function, (blocks, parts), THREADS, *values)
        last, between = [[self.results, size, self.kept[0][2]]], [[parts, self.results * size]]
        return [first, self.launch(scratch, self.y, last, between, 32, reads=kind)]

    def behind(self, size):
        """Returns the strides of the kept axes for contiguous results."""
        return [size * prod(n for n, *_ in self.kept[i + 1 :]) for i in range(len(self.kept))]

    def lanes(self):
        """Returns the number of adjacent results per block that makes a warp's reads contiguous."""
        kept, along = (axes[-1][1] if axes else 1 << 60 for axes in (self.kept, self.along))
        if kept < along:
            return min(32, power(self.results))
        return max(1, min(THREADS // power(self.length), power(self.results)))

    def parts(self, lanes):
        """Returns how many parts a result's numbers are split into, so that all processors work."""
        return self.parts_of(-(-self.results // lanes), lanes)

    def parts_of(self, blocks, lanes):
        target = 4 * self.session.device.driver.properties.processors
        largest = min(target // blocks, self.length // (THREADS // lanes * EACH))
        return parts_needed(self.length, max(1, largest))

    def launch(self, x, y, kept, along, lanes, parts=1, reads=None, writes=None):
        kind = accumulator(self.x, self.y)
        types = {"T": reads or self.x.dtype.name, "R": writes or self.y.dtype.name, "A": kind}
        function = self.session.family("reduce.cu", "reduce", MAXIMUM=int(self.maximum), **types)
        length = prod(size for size, _ in along)
        sizes, steps = [n for n, *_ in kept], list(zip(*kept, strict=True))[1:] or ((), ())
        walks = walk(sizes, steps[0]), walk([n for n, _ in along], [s for _, s in along])
        grid = -(-self.results // lanes), parts
        numbers = (np.uint32(n) for n in (self.results, length, -(-length // parts), lanes))
        values = *walks, walk(sizes, steps[1]), *numbers, x, y
        return self.session.launch(function, grid, THREADS, *values)


def accumulator(x, y):
    """Returns the accumulator's type."""
    if is_float(x.dtype):
        return "float64" if x.dtype == np.float64 else "float32"
    return y.dtype.name


def power(n):
    """Returns the smallest power of 2 that is at least n, at most the threads of a block."""
    return min(THREADS, 1 << max(n - 1, 0).bit_length())
