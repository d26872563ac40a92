"""AllReduceSGD whose updates exchange in several ways by turns, each of them timed."""

import time
from dataclasses import dataclass, field

import numpy as np

from sparkdl.training.masters.all_reduce.buckets import Buckets
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker, bucket_bytes

ALONE, BEHIND, BESIDE = "alone", "behind", "beside"
ALL = 1 << 30  # bytes: one bucket, which is final when the backward pass ends
FIGURES = ("seconds", "waited", "busy", "sent")


@dataclass(frozen=True, kw_only=True)
class ByTurns(AllReduceSGD, abstract=True):
    """Workers compute alone, sum their gradients behind the backward pass, and beside it.

    Only to be measured: where workers compute alone, their replicas drift apart.

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
    """Measures each update; of both workers the larger figure counts.

    All begin an update at the same time, behind a barrier, and it ends when the last one has
    ended. The ways come in an order that is drawn anew for each turn, so that none always follows
    the same other. Figures are in `state`, with the number of the "way" of each update: "seconds",
    those "waited", those of the process on all cores ("busy"), and bytes "sent".
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
        """What FIGURES are differences of."""
        waited, sent = self.worker.metrics.exchanging, self.worker.sent_bytes
        return time.perf_counter(), waited, time.process_time(), sent


class Alone:
    """In place of Buckets: no gradient goes anywhere, but all wait for the slowest."""

    def __init__(self, worker):
        self.worker = worker

    def begin(self, weight):
        """There is nothing to count."""

    def keep(self, weight):
        """A gradient that goes nowhere need not be added to others."""

    def last(self, step, weight):
        """Nothing is to be done when a gradient is final."""
        self.worker.gradient(step)

    def settle(self):
        """Nothing is under way after an update."""

    def add_zeros(self):
        """A worker that has no gradient gives none."""

    def worker_state(self):
        """Nothing is left of a gradient."""
        return {}

    def end(self):
        with self.worker.exchanging():
            self.worker.group.barrier()
