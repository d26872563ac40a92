"""Strategy of TensorParallel in a worker: its part of all layers, for the joint minibatch."""

import numpy as np

from sparkdl.nn.execution.split_network import network_parts
from sparkdl.nn.execution.split_replica import SplitReplica
from sparkdl.nn.optimization.network_part import slots_part
from sparkdl.training.masters.divided_state import PARAMS, SLOTS
from sparkdl.training.masters.divided_worker import DividedWorker
from sparkdl.training.masters.tensor_parallel.groups import degree_of
from sparkdl.training.masters.tensor_parallel.joint_batch import JointBatches
from sparkdl.training.masters.tensor_parallel.tensor_group import TensorGroup
from sparkdl.training.resident.buffer_mean import mean_buffers


class TensorWorker(DividedWorker):
    """Strategy of TensorParallel in a worker.

    Consecutive ranks hold the parts of a replica; workers with the same part of different replicas
    sum gradients.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self.parts = worker.replica.group
        self.network_size = self.parts.size
        self.same_part = None
        if self.parts.size < worker.size:
            color = worker.rank % self.parts.size
            self.same_part = worker.group.split(color, master.shared_memory)
        self._batches = JointBatches(worker, self.parts.group)

    def round(self, steps):
        trained = 0
        for step in steps:
            trained += self._update(step)
        if self.same_part is not None:
            mean_buffers(self.worker, trained)

    def _update(self, step):
        """Makes one update on all workers; returns the examples of this replica."""
        worker = self.worker
        with worker.exchanging():
            joint, (examples, total) = self._batches.exchange(step)
        if step is not None:
            worker.count(step, 0.0, len(step.batch))
        if joint is None:
            worker.replica.grad[...] = 0
        else:
            batch, share, states = joint
            loss, _ = worker.replica.gradient(batch, worker.epoch, states=states)
            worker.metrics.loss += share * float(loss) * (self.parts.rank == 0)
            worker.metrics.exchanging += self.parts.take_seconds()
        if self.same_part is not None:
            with worker.exchanging(), np.errstate(all="ignore"):
                gradient = worker.replica.grad
                gradient *= np.float32(examples / total)
                self.same_part.all_reduce(gradient)
        worker.apply()
        return examples

    def end_epoch(self):
        """Broadcasts the numbers that several workers hold, as hosts may round differently."""
        replica, network = self.worker.replica, self.worker.replica.conf
        slots = slots_part(network, network.common)
        with self.worker.exchanging():
            for vector, common in ((replica.params, network.common), (replica.slots, slots)):
                if self.same_part is not None and len(vector):
                    self.same_part.broadcast(vector)
                shared = common.take(vector)
                if len(shared):
                    common.put(self.parts.group.broadcast(shared), vector)

    def gather(self, params):
        own = self.worker.replica.params
        vectors = self.parts.group.all_gather_bytes(own.view(np.uint8))
        parts = network_parts(self.worker.conf, self.network_size)
        for part, vector in zip(parts, vectors, strict=True):
            part.put(vector.view(np.float32), params)


def split_replica(master, setup, group, share):
    """Returns the replica of a worker's part; raises ConfigError on a GPU."""
    backend = master.processor()
    degree = degree_of(master, group.size)
    parts = group
    if degree < group.size:
        parts = group.split(group.rank // degree, master.shared_memory)
    vectors = share[PARAMS], share[SLOTS], setup.state.buffers
    return SplitReplica(setup.conf, TensorGroup(parts), *vectors, backend)
