"""Sums and maxima along axes, in one launch or, where few results are of many numbers, in two."""

from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import (
    parts_needed,
    require_few_numbers,
    together,
    walk,
)
from sparkdl.engine.dtypes import is_float

THREADS = 256
EACH = 8  # numbers that a thread should at least have before blocks share a result's


def sum_along(session, op, x, y):
    return reduction_calls(session, x, y, op.axes)


def max_along(session, op, x, y):
    return reduction_calls(session, x, y, op.axes, maximum=True)


def sum_to(session, op, x, y):
    """The sum over what a broadcast repeated."""
    lead = x.ndim - y.ndim
    repeated = [i + lead for i, n in enumerate(y.shape) if n == 1 and x.shape[i + lead] != 1]
    return reduction_calls(session, x, y, (*range(lead), *repeated))


def reduction_calls(session, x, y, along, maximum=False):
    """Calls that fill y, whose axes are those of x but `along`, left out or of length 1."""
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
    """A reduction: [size, step in x, step in y] of kept axes, [size, step] of others."""

    def __init__(self, session, x, y, kept, along, maximum):
        self.session, self.x, self.y, self.kept, self.along = session, x, y, kept, along
        self.maximum, self.results = maximum, prod(size for size, *_ in kept)
        self.length = prod(size for size, _ in along)

    def calls(self):
        if not self.results:
            return []
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

    def behind(self, size):
        """Returns the steps of the kept axes where results lie behind one another."""
        return [size * prod(n for n, *_ in self.kept[i + 1 :]) for i in range(len(self.kept))]

    def lanes(self):
        """Returns results side by side: as many as make a warp's reads lie together."""
        kept, along = (axes[-1][1] if axes else 1 << 60 for axes in (self.kept, self.along))
        if kept < along:
            return min(32, power(self.results))
        return max(1, min(THREADS // power(self.length), power(self.results)))

    def parts(self, lanes):
        """Returns into how many parts a result's numbers fall, so that all processors have work."""
        blocks, target = (
            -(-self.results // lanes),
            4 * self.session.device.driver.properties.processors,
        )
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
    """Returns the type in which numbers are added up."""
    if is_float(x.dtype):
        return "float64" if x.dtype == np.float64 else "float32"
    return y.dtype.name


def power(n):
    """Returns the smallest power of 2 that is not below n, at most the threads of a block."""
    return min(THREADS, 1 << max(n - 1, 0).bit_length())
