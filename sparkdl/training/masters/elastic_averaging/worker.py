"""Strategies of ElasticAveraging in a worker: synchronous, or through a key-value store."""

import numpy as np

from sparkdl.exchange.compressed_sum import CompressedSum
from sparkdl.nn.optimization.parameter_options import fixed_parts
from sparkdl.training.resident.buffer_mean import mean_buffers
from sparkdl.training.resident.per_worker_state import copy_worker_state, prefix, worker_state_part
from sparkdl.training.resident.strategy import Strategy

CENTER = "center"
MOVES = "moves"
WORKER_VECTORS = ("params", "slots")


class ElasticWorker(Strategy):
    """Base of both strategies."""

    def __init__(self, master, worker):
        super().__init__(master, worker)
        alpha = 0.9 / worker.size if master.alpha is None else master.alpha
        self._alpha = np.float32(alpha)
        self._center = worker.replica.params.copy()
        self._moved = np.empty_like(self._center)
        self._fixed = fixed_parts(worker.conf)  # a codec may add noise to these
        if worker.saved_state:
            for name in WORKER_VECTORS:
                copy_worker_state(worker.saved_state, name, getattr(worker.replica, name))
        for part in self._fixed:  # in older checkpoints these may differ between workers
            worker.replica.params[part] = self._center[part]

    def round(self, steps):
        start, trained, since = self.worker.iteration, 0.0, 0.0
        number = 0
        for number, step in enumerate(steps, 1):
            examples = self._train(step)
            trained, since = trained + examples, since + examples
            if number % self.master.tau == 0:
                self._exchange(since > 0)
                since = 0.0
        if number % self.master.tau:
            self._exchange(since > 0)
        self.worker.iteration = start + self.worker.maximum(self.worker.iteration - start)
        mean_buffers(self.worker, trained)

    def state(self):
        """Returns the center as parameters, and the mean optimizer state over workers."""
        slots = self.worker.replica.slots / np.float32(self.worker.size)
        with self.worker.exchanging():
            if len(slots):
                self.worker.group.all_reduce(slots)
            self._settle()
        return super().state() | {"params": self._center, "slots": slots}

    def worker_state(self):
        """Returns the worker's weights and optimizer state."""
        return {name: getattr(self.worker.replica, name) for name in WORKER_VECTORS}

    def _train(self, step):
        """Updates this worker alone if there is a step; returns the number of its examples."""
        if step is None:
            return 0.0
        self.worker.update(step)
        return step.share * len(step.batch)

    def _exchange(self, trained):
        """Pulls the worker and the center together, if the worker has trained anything."""
        with self.worker.exchanging(), np.errstate(all="ignore"):
            self._move(trained)

    def _away(self):
        """Moves the worker towards the center; returns the opposite of that move."""
        params = self.worker.replica.params
        np.subtract(params, self._center, out=self._moved)
        self._moved *= self._alpha
        params -= self._moved
        return self._moved

    def _move(self, trained):
        raise NotImplementedError

    def _settle(self) -> None:
        """Synchronizes the center over all workers."""


class SynchronousElasticWorker(ElasticWorker):
    """All workers hold the same center and exchange at the same time."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._sums = None
        if master.codec is not None:
            self._sums = CompressedSum(worker.group, master.codec, len(self._center))
            if worker.saved_state:
                self._sums.restore(worker_state_part(MOVES, worker.saved_state))

    def end_epoch(self) -> None:
        if self._sums is not None:
            with self.worker.exchanging():
                self._sums.settle()

    def worker_state(self):
        residual = {} if self._sums is None else self._sums.state()
        return super().worker_state() | prefix(MOVES, residual)

    def _move(self, trained):
        if trained:
            self._away()
        else:
            self._moved[:] = 0
        if self._sums is None:
            self.worker.group.all_reduce(self._moved)
        else:
            self._sums.sum(self._moved)
        for part in self._fixed:
            self._moved[part] = 0
        self._center += self._moved


class StoreElasticWorker(ElasticWorker):
    """The center is in a key-value store; each worker exchanges with it independently."""

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._store = worker.store(mode="async")
        if master.codec is not None:
            self._store.set_compression(master.codec)
        self._store.set_optimizer(move_center)
        self._store.init(CENTER, self._center)
        if worker.saved_state:
            self._store.restore_compression(CENTER, worker_state_part(MOVES, worker.saved_state))

    def worker_state(self):
        return super().worker_state() | prefix(MOVES, self._store.compression_state(CENTER))

    def close(self) -> None:
        self._store.abandon()

    def _move(self, trained):
        if trained:
            self._pull()
            self._store.push(CENTER, self._away())

    def _settle(self) -> None:
        """Pulls the center after all have pushed; no worker pushes again before all have pulled."""
        self._pull()
        self.worker.group.barrier()

    def _pull(self) -> None:
        self._store.pull(CENTER, self._center)
        for part in self._fixed:
            self._center[part] = self.worker.replica.params[part]


def move_center(key, value, change, slots):
    """Applies a push to the center; runs in a thread of the store."""
    value += change
