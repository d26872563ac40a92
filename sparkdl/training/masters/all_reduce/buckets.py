"""Slices of the gradient, summed over workers as soon as they are final."""

from collections import Counter
from functools import partial

import numpy as np

from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.training.resident.per_worker_state import prefix, worker_state_part

GRADIENTS = "gradients"
# Minimum and maximum bytes of a bucket. Larger ones need fewer calls, but overlap less.
OVER_SOCKETS = 256 << 10, 4 << 20


class Buckets:
    """Turns a replica's gradient into the weighted mean over all workers.

    All workers exchange the buckets in the same order, from the last layers to the first, as
    gradients become final; the sum of the weights travels first. A fast worker waits for that sum
    until the slowest has begun too. This costs no time, as the slowest has more left to do.

    Parameters
    ----------
    worker : Worker
    nbytes : int
        Size of a bucket; a larger array has a bucket to itself.
    codec : Codec or None
        If given, there is a single bucket, encoded when the last gradient is final.
    """

    def __init__(self, worker, nbytes, codec=None):
        self.worker = worker
        slices = worker.conf.params_layout.slices
        limit = self.grad.nbytes if codec is not None else nbytes
        self._owners, self._slices = cut_buckets(slices, limit / self.grad.itemsize)
        self._arrays = Counter(self._owners.values())  # number of arrays in each bucket
        self._compressed, self._earlier, self._keeps = None, None, False
        if codec is not None:
            self._compressed = CompressedSum(worker.group, codec, len(self.grad))
            if worker.saved_state:
                self._compressed.restore(worker_state_part(GRADIENTS, worker.saved_state))

    def worker_state(self):
        """Returns the codec's residuals, for Strategy.worker_state."""
        return {} if self._compressed is None else prefix(GRADIENTS, self._compressed.state())

    def flush(self):
        """Returns the codec's residuals summed over workers, or None if they are zero."""
        if self._compressed is None:
            return None
        with self.worker.exchanging():
            residual = self._compressed.flush()
        return residual if residual.any() else None

    @property
    def grad(self):
        return self.worker.replica.grad

    def begin(self, weight):
        """Begins a new gradient; `weight` is the total weight of this worker's contributions."""
        self._missing = [self._arrays[i] for i in range(len(self._slices))]
        self._pending = []
        self._total = np.array([weight], np.float64)
        self._counting = self.worker.group.start_all_reduce(self._total)

    def keep(self, weight):
        """Accumulates the replica's gradient, one of several that this worker contributes."""
        if self._earlier is None:
            self._earlier = np.zeros_like(self.grad)
        self._earlier += weight * self.grad
        self._keeps = True

    def last(self, step, weight):
        """Computes this worker's last gradient and sends its parts while the computation runs."""
        after = self.when_final(weight, self._earlier if self._keeps else None)
        self.worker.gradient(step, after)
        if self._keeps:
            self._earlier[:], self._keeps = 0, False

    def when_final(self, weight, earlier):
        """Returns {array: function for Replica.gradient to call once the array is final}.

        Parameters
        ----------
        weight : float
            Of the gradient that is being computed.
        earlier : vector or None
            Already weighted gradients to add to it.
        """
        return {n: partial(self._final, i, weight, earlier) for n, i in self._owners.items()}

    def add_zeros(self) -> None:
        """Contributes zeros, as this worker has no gradient."""
        self.grad[:] = 0
        for place in range(len(self._slices)):
            self._start(place)

    def end(self) -> None:
        """Waits for the sums of all buckets; the replica's gradient is then the mean."""
        with self.worker.exchanging():
            for pending in self._pending:
                if pending is not None:
                    pending.wait()
        if self._compressed is not None and self.worker.all_finite():
            self.worker.clear_fixed(self.grad)
            with self.worker.exchanging():
                self._compressed.sum(self.grad)

    def settle(self) -> None:
        """Ends a round: waits for pending exchanges and raises their errors."""

    def _final(self, place, weight, earlier):
        self._missing[place] -= 1
        if not self._missing[place]:
            part, total = self._slices[place], self._total_weight()
            self.grad[part] *= weight / total
            if earlier is not None:
                self.grad[part] += earlier[part] / total
        while len(self._pending) < len(self._slices) and not self._missing[len(self._pending)]:
            self._start(len(self._pending))

    def _total_weight(self):
        """Returns the sum of all weights."""
        with self.worker.exchanging():
            self._counting.wait()
        return self._total[0]

    def _start(self, place):
        plain, view = self._compressed is None, self.grad[self._slices[place]]
        self._pending.append(self.worker.group.start_all_reduce(view) if plain else None)


def bucket_bytes(master, conf):
    """Returns the bytes of a bucket over sockets: the option, or a size that suits the network."""
    return master.bucket_bytes or clamp_bucket_bytes(conf, 16, *OVER_SOCKETS)


def clamp_bucket_bytes(conf, parts, low, high):
    """Returns the bytes of one of `parts` parts of a gradient, clamped to [low, high]."""
    return min(max(4 * conf.params_layout.size // parts, low), high)


def cut_buckets(slices, size):
    """Returns {name: bucket}, [slice of each bucket]: adjacent arrays, from the vector's end on.

    Parameters
    ----------
    slices : {name: slice}, consecutive
    size : float
        Numbers in a bucket: a bucket ends with the array that makes it at least this large.
    """
    owners, parts, stop = {}, [], None
    for name, part in reversed(slices.items()):
        owners[name] = len(parts)
        stop = part.stop if stop is None else stop
        if stop - part.start >= size:
            parts.append(slice(part.start, stop))
            stop = None
    if stop is not None:
        parts.append(slice(0, stop))
    return owners, parts
