"""AllReduceSGD whose updates alternate between ways of exchanging gradients, each timed."""

import time
from dataclasses import dataclass, field

import numpy as np

from sparkdl.training.masters.all_reduce.buckets import Buckets
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker, bucket_bytes

ALONE, BEHIND, BESIDE = "alone", "behind", "beside"
ALL = 1 << 30  # bytes: a single bucket, final when the backward pass ends
FIGURES = ("seconds", "waited", "busy", "sent")


@dataclass(frozen=True, kw_only=True)
class ByTurns(AllReduceSGD, abstract=True):
    """Alternates: workers compute alone, sum gradients after the backward pass, or during it.

    For measurements only: without exchange, replicas diverge.

    Parameters
    ----------
    sizes : {way: bytes of a bucket, None for the master's own}
        The ways other than "alone".
    """

    sizes: dict = field(default_factory=lambda: {BEHIND: ALL, BESIDE: None})
    sync_epochs: int | None = None

    @property
    def ways(self):
        return (ALONE, *self.sizes)

    def strategy(self, worker):
        return Turns(self, worker)


class Turns(AllReduceWorker):
    """Measures each update; the larger figure of both workers counts.

    A barrier starts each update on all workers, and it ends when the last one does. Each turn
    shuffles the ways, so that none always follows the same other. `state` holds the figures of each
    update with the number of its "way": "seconds", seconds "waited", CPU seconds ("busy"), and
    bytes "sent".
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        own = bucket_bytes(master, worker.conf)
        self._ways = [Alone(worker)]
        self._ways += [Buckets(worker, size or own) for size in master.sizes.values()]
        self._rng, self._turn = np.random.default_rng(0), []
        self._done, self._found = [], []

    def state(self):
        found = np.array(self._found, np.float64)
        if len(found):
            self.worker.group.all_reduce(found, op="max")
        kept = dict(zip(FIGURES, found.T, strict=True)) if len(found) else {}
        return super().state() | {"master_state": kept | {"way": np.array(self._done, np.float64)}}

    def _update(self, steps, following=None):
        self._turn = self._turn or [*self._rng.permutation(len(self._ways))]
        way = self._turn.pop()
        self._buckets = self._ways[way]
        self.worker.group.barrier()
        before = self._clocks()
        examples = super()._update(steps, following)
        self._found.append([now - then for now, then in zip(self._clocks(), before, strict=True)])
        self._done.append(way)
        return examples

    def _clocks(self):
        """Returns the counters whose differences are FIGURES."""
        waited, sent = self.worker.metrics.exchanging, self.worker.sent_bytes
        return time.perf_counter(), waited, time.process_time(), sent


class Alone:
    """Replaces Buckets: gradients are not exchanged, but all wait for the slowest."""

    def __init__(self, worker):
        self.worker = worker

    def begin(self, weight):
        """Does nothing, as nothing is summed."""

    def keep(self, weight):
        """Does nothing, as gradients are not exchanged."""

    def last(self, step, weight):
        """Computes the gradient without exchanging it."""
        self.worker.gradient(step)

    def settle(self):
        """Does nothing, as no exchange is in progress."""

    def add_zeros(self):
        """Does nothing, as no gradient is expected."""

    def worker_state(self):
        """Returns no state."""
        return {}

    def end(self):
        with self.worker.exchanging():
            self.worker.group.barrier()
