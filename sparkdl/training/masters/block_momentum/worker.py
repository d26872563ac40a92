"""Strategy of BlockMomentum in a worker: averages pass through a momentum filter."""

import numpy as np

from sparkdl.nn.optimization.parameter_options import fixed_parts
from sparkdl.training.masters.parameter_averaging.worker import ParameterAveragingWorker


class BlockMomentumWorker(ParameterAveragingWorker):
    """Strategy of BlockMomentum in a worker: all workers keep the same weights and step."""

    def __init__(self, master, worker):
        super().__init__(master, worker)
        params, momentum = worker.replica.params, master.momentum_of(worker.size)
        self._momentum, self._rate = np.float32(momentum), np.float32(master.block_learning_rate)
        self._weights, self._step = params.copy(), np.zeros_like(params)
        if "block_step" in worker.master_state:
            np.copyto(self._step, worker.master_state["block_step"])
        for part in fixed_parts(worker.conf):  # older checkpoints may have a step for these
            self._step[part] = 0
        self._look_ahead()

    def round(self, steps):
        before = self.worker.replica.params.copy()
        super().round(steps)
        with np.errstate(all="ignore"):  # the round checks that all numbers are finite
            self._step *= self._momentum
            self._step += self._rate * (self.worker.replica.params - before)
            self._weights += self._step
            self._look_ahead()

    def state(self):
        master_state = {"block_step": self._step}
        return super().state() | {"params": self._weights, "master_state": master_state}

    def _look_ahead(self) -> None:
        """Sets the replica's parameters to the starting point of the next block."""
        np.copyto(self.worker.replica.params, self._weights)
        if self.master.use_nesterov_momentum:
            self.worker.replica.params += self._momentum * self._step
