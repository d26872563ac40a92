"""Strategy of ParameterAveraging in a worker: workers average among themselves."""

import numpy as np

from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.nn import initial_slots
from sparkdl.nn.optimization.parameter_options import moved_parts
from sparkdl.training.resident.buffer_mean import (
    FEW,
    changed_numbers,
    fill_addend,
    mean_buffers,
    mean_from,
)
from sparkdl.training.resident.per_worker_state import prefix, worker_state_part
from sparkdl.training.resident.strategy import Strategy

CHANGES = "changes"


class ParameterAveragingWorker(Strategy):
    """Strategy that trains a block alone, then takes the mean of all workers weighted by examples.

    One vector is summed over workers: the trained parameters, the slots and, at its end, the number
    of examples, so that a worker without data adds zeros. A few buffers travel in the tail of that
    vector; more of them are exchanged separately. With a codec, the weights are left out: their
    change since the last mean is summed by itself.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        replica, codec = worker.replica, master.codec
        self._averaged = []  # (name of the vector, slice of it, slice of the sum)
        if codec is None:
            self._take_up("params", moved_parts(worker.conf))
        if master.average_optimizer_state:
            self._take_up("slots", [slice(0, len(replica.slots))])
        size = self._averaged[-1][-1].stop if self._averaged else 0
        buffers = len(replica.buffers)
        self._summed_buffers = buffers if worker.size > 1 and buffers <= FEW else 0
        self._sum = np.zeros(size + 2 * self._summed_buffers + 1, replica.params.dtype)
        self._tail = self._sum[size:]
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
        self._average(examples)

    def end_epoch(self) -> None:
        if self._changes is not None:
            with self.worker.exchanging():
                self._changes.settle()

    def worker_state(self):
        return {} if self._changes is None else prefix(CHANGES, self._changes.state())

    def _take_up(self, name, parts):
        """Registers slices of a vector to be averaged."""
        stop = self._averaged[-1][-1].stop if self._averaged else 0
        for part in parts:
            start, stop = stop, stop + part.stop - part.start
            self._averaged.append((name, part, slice(start, stop)))

    def _begin(self) -> None:
        """Prepares the next block: resets optimizer state, or notes the weights it starts from."""
        if not self.master.average_optimizer_state:
            np.copyto(self.worker.replica.slots, initial_slots(self.worker.conf))
        if self._changes is not None:
            np.copyto(self._start, self.worker.replica.params)

    def _average(self, examples):
        with (
            self.worker.exchanging(),
            np.errstate(all="ignore"),
        ):  # the result is checked for non-finite numbers
            self._add_up(examples)
            if self._changes is not None:
                self._add_changes(np.float32(examples) / self._sum[-1])
        if not self._summed_buffers:
            mean_buffers(self.worker, examples)
        self._begin()  # drops the workers' own state, so that all have the same

    def _add_up(self, examples):
        replica, count = self.worker.replica, self._summed_buffers
        buffers, start = replica.buffers[:count], self.worker.start_buffers[:count]
        for name, part, place in self._averaged:
            np.multiply(getattr(replica, name)[part], examples, out=self._sum[place])
        fill_addend(self._tail, buffers, changed_numbers(buffers, start), examples)
        self.worker.group.all_reduce(self._sum)
        for name, part, place in self._averaged:
            np.multiply(self._sum[place], 1 / self._sum[-1], out=getattr(replica, name)[part])
        buffers[:] = start[:] = mean_from(self._tail, buffers)

    def _add_changes(self, share):
        """Adds the sum of all workers' weighted changes to the weights of the last mean."""
        params = self.worker.replica.params
        params -= self._start
        params *= share
        self._changes.sum(params)
        self.worker.clear_fixed(params)  # a codec may add noise to fixed parameters
        params += self._start
