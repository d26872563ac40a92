"""Parameter averaging by the workers themselves."""

import numpy as np

from sparkdl.nn import initial_slots
from sparkdl.training.resident.strategy import Strategy


class PeerAveraging(Strategy):
    """Trains a block alone, then takes the mean of all workers, weighted by examples.

    The vectors of a replica lie one behind the other in one that is summed, and the number of
    examples behind them: a worker without data adds zeros.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        replica = worker.replica
        self._averaged = [replica.params, replica.buffers]
        self._averaged += [replica.slots] if master.average_updater_state else []
        sizes = [len(vector) for vector in self._averaged]
        self._sum = np.zeros(sum(sizes) + 1, replica.params.dtype)
        self._parts = np.split(self._sum[:-1], np.cumsum(sizes)[:-1])

    def round(self, steps):
        start, examples = self.worker.iteration, 0
        self._begin()
        for step in steps:
            own = self.worker.iteration - start + 1
            self.worker.update(step, None if self.master.average_updater_state else own)
            examples += step.share * len(step.batch)
        self.worker.iteration = start + self.worker.most(self.worker.iteration - start)
        with self.worker.exchanging():
            self._average(examples)

    def _begin(self):
        if not self.master.average_updater_state:
            np.copyto(self.worker.replica.slots, initial_slots(self.worker.conf))

    def _average(self, examples):
        with np.errstate(all="ignore"):  # whether all is finite is asked of the result
            self._add_up(examples)
        self._begin()  # no worker's own are left, so that all have the same state

    def _add_up(self, examples):
        for part, vector in zip(self._parts, self._averaged, strict=True):
            np.multiply(vector, examples, out=part)
        self._sum[-1] = examples
        self.worker.group.all_reduce(self._sum)
        for part, vector in zip(self._parts, self._averaged, strict=True):
            np.multiply(part, 1 / self._sum[-1], out=vector)
