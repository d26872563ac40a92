"""Base class of the strategies of workers that split a network."""

from contextlib import contextmanager

from sparkdl.nn.execution.replica import make_replica
from sparkdl.training.masters.divided_state import EMPTY, PARAMS, SLOTS, common_state
from sparkdl.training.resident.strategy import Strategy


class DividedWorker(Strategy):
    """Strategy of a DividedMaster in a worker.

    Attributes
    ----------
    network_size : int
        Number of workers that hold one copy of the network together.
    """

    lockstep = True
    network_size: int

    def gather(self, params):
        """Fills the parameters of the whole network with those of all workers that hold it."""
        raise NotImplementedError

    def state(self):
        return common_state(self.worker.replica)

    def worker_state(self):
        """Returns the state of this worker's part; empty in other copies, which are equal."""
        replica = self.worker.replica
        if self.worker.rank < self.network_size:
            return {PARAMS: replica.params, SLOTS: replica.slots}
        return {PARAMS: EMPTY, SLOTS: EMPTY}

    @contextmanager
    def in_use(self):
        """Provides a replica of the whole network, with the parameters of all parts."""
        replica = self.worker.replica
        whole = make_replica(self.worker.conf, replica.backend)
        with self.worker.exchanging():
            self.gather(whole.params)
        whole.buffers = replica.buffers
        yield whole
