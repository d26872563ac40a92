"""Strategies of GradientSharing in a worker: sharing of gradients, or of updates."""

import numpy as np

from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.training.resident.buffer_mean import mean_buffers
from sparkdl.training.resident.per_worker_state import copy_worker_state, prefix, worker_state_part
from sparkdl.training.resident.strategy import Strategy

SUMS = "sums"


class SharingWorker(Strategy):
    """Base class of both kinds of sharing: all workers have the same weights after each step."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        n = len(worker.replica.params)
        self._sums = CompressedSum(worker.group, master.codec, n)
        if worker.saved_state:
            self._sums.restore(worker_state_part(SUMS, worker.saved_state))

    def round(self, steps):
        trained = 0
        for step in steps:
            self.exchange(step)
            trained += 0 if step is None else step.share * len(step.batch)
        mean_buffers(self.worker, trained)

    def end_epoch(self) -> None:
        with self.worker.exchanging():
            self._sums.settle()

    def worker_state(self):
        return prefix(SUMS, self._sums.state())

    def exchange(self, step):
        """Makes one update on all workers; `step` is this worker's own, or None."""
        raise NotImplementedError

    def combine(self, x, step):
        """Replaces x, the vector of a step, by the combination of all workers' vectors."""
        mean = self.master.combine == "mean"
        share = 0.0 if step is None else len(step.batch) / self.master.batch_size_per_worker
        with self.worker.exchanging():
            total = np.array([share])
            count = self.worker.group.start_all_reduce(total) if mean else None
            if step is not None and mean:
                x *= np.float32(share)
            self._sums.sum(x)
            if mean:
                count.wait()
                x *= np.float32(1 / total[0])


class GradientSharingWorker(SharingWorker):
    """Shares gradients; all workers make the same update with the combined gradient."""

    def exchange(self, step):
        if step is not None:
            self.worker.gradient(step)
        else:
            self.worker.replica.grad[:] = 0
        if self.worker.all_finite():
            self.worker.clear_fixed(self.worker.replica.grad)
            self.combine(self.worker.replica.grad, step)
        self.worker.apply()


class UpdateSharingWorker(SharingWorker):
    """Shares updates; the weights take the combined step."""

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._before = np.empty_like(worker.replica.params)
        if worker.saved_state:
            copy_worker_state(worker.saved_state, "slots", worker.replica.slots)

    def exchange(self, step):
        np.copyto(self._before, self.worker.replica.params)
        if step is None:
            self.worker.iteration += 1  # keeps pace with the other workers' updates
        else:
            self.worker.update(step)
        params = self.worker.replica.params
        params -= self._before
        self.combine(params, step)
        self.worker.clear_fixed(params)  # a codec may add noise to fixed parameters
        params += self._before

    def state(self):
        """Returns the state; its optimizer state is the mean over workers."""
        state = super().state()
        with self.worker.exchanging():
            slots = state["slots"] / np.float32(self.worker.size)
            state["slots"] = self.worker.group.all_reduce(slots) if len(slots) else slots
        return state

    def worker_state(self):
        return super().worker_state() | {"slots": self.worker.replica.slots}
