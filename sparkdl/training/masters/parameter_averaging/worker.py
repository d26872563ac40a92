"""Parameter averaging by the workers themselves."""

import numpy as np

from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.nn import initial_slots
from sparkdl.training.resident.per_worker_state import prefix, worker_state_part
from sparkdl.training.resident.strategy import Strategy

CHANGES = "changes"


class ParameterAveragingWorker(Strategy):
    """Strategy that trains a block alone, then takes the mean of all workers by examples.

    The vectors of a replica lie one behind the other in one that is summed, and the number of
    examples behind them: a worker without data adds zeros. With a codec, what is summed of the
    weights is how far they have come since the last mean, by itself.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        replica, codec = worker.replica, master.codec
        self._averaged = ["params"] * (codec is None) + ["buffers"]
        self._averaged += ["slots"] * master.average_optimizer_state
        sizes = [len(getattr(replica, name)) for name in self._averaged]
        self._sum = np.zeros(sum(sizes) + 1, replica.params.dtype)
        self._parts = np.split(self._sum[:-1], np.cumsum(sizes)[:-1])
        self._changes = None
        if codec is not None:
            self._changes = CompressedSum(worker.group, codec, len(replica.params))
            self._start = replica.params.copy()
            if worker.saved_state:
                self._changes.restore(worker_state_part(CHANGES, worker.saved_state))

    def round(self, steps):
        start, examples = self.worker.iteration, 0
        self._begin()
        for step in steps:
            own_updates = self.worker.iteration - start + 1
            self.worker.update(step, None if self.master.average_optimizer_state else own_updates)
            examples += step.share * len(step.batch)
        self.worker.iteration = start + self.worker.maximum(self.worker.iteration - start)
        with self.worker.exchanging():
            self._average(examples)

    def end_epoch(self) -> None:
        if self._changes is not None:
            with self.worker.exchanging():
                self._changes.settle()

    def worker_state(self):
        return {} if self._changes is None else prefix(CHANGES, self._changes.state())

    def _begin(self) -> None:
        """Gives all workers the same weights; they train alone from now on."""
        if not self.master.average_optimizer_state:
            np.copyto(self.worker.replica.slots, initial_slots(self.worker.conf))
        if self._changes is not None:
            np.copyto(self._start, self.worker.replica.params)

    def _average(self, examples):
        with np.errstate(all="ignore"):  # the check of the result finds numbers that are not finite
            self._add_up(examples)
            if self._changes is not None:
                self._add_changes(np.float32(examples) / self._sum[-1])
        self._begin()  # no worker's own are left, so that all have the same state

    def _add_up(self, examples):
        replica = self.worker.replica
        for part, name in zip(self._parts, self._averaged, strict=True):
            np.multiply(getattr(replica, name), examples, out=part)
        self._sum[-1] = examples
        self.worker.group.all_reduce(self._sum)
        for part, name in zip(self._parts, self._averaged, strict=True):
            np.multiply(part, 1 / self._sum[-1], out=getattr(replica, name))

    def _add_changes(self, share):
        """Moves the weights from the last mean by the sum of all workers' shares of change."""
        params = self.worker.replica.params
        params -= self._start
        params *= share
        self._changes.sum(params)
        params += self._start
