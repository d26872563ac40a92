"""Strategy of AllReduceSGD in a worker that keeps and updates only its shard of the state."""

from contextlib import contextmanager

from sparkdl.errors import ConfigError
from sparkdl.nn.execution.device import choose_backend
from sparkdl.nn.execution.sharded_replica import ShardedReplica
from sparkdl.training.masters.all_reduce.buckets import bucket_bytes
from sparkdl.training.masters.all_reduce.sharded_buckets import OwnBuckets, PagedBuckets
from sparkdl.training.masters.all_reduce.sharding import params_part
from sparkdl.training.masters.all_reduce.worker import AllReduceWorker
from sparkdl.training.masters.divided_state import PARAMS, SLOTS, common_state

PAGED = {"optimizer": ("grad",), "gradients": ("grad",), "parameters": ("grad", "params")}


class ShardedWorker(AllReduceWorker):
    """Like AllReduceWorker, with bitwise equal results, but each worker updates only its shard.

    Each worker receives the summed gradients of its shard, updates the shard and shares it with the
    others: after the update or, if parameters are sharded too, bucket by bucket during computation.
    """

    def __init__(self, master, worker):
        super().__init__(master, worker)
        if "params" not in worker.replica.pages:
            self._buckets.gather()

    def buckets(self):
        nbytes = bucket_bytes(self.master, self.worker.conf)
        if self.master.shard == "optimizer":
            return OwnBuckets(self.worker, nbytes)
        return PagedBuckets(self.worker, nbytes, self.master.batch_size_per_worker)

    def apply(self) -> None:
        super().apply()
        if "params" not in self.worker.replica.pages:
            self._buckets.gather()

    def end_epoch(self) -> None:
        """Does nothing: each number has a single owner, so workers cannot drift apart."""

    def state(self):
        return common_state(self.worker.replica)

    def worker_state(self):
        replica = self.worker.replica
        return {PARAMS: replica.kept_params, SLOTS: replica.slots}

    @contextmanager
    def in_use(self):
        """Gathers the parameters while they are in use, if this worker holds only a shard."""
        replica = self.worker.replica
        if "params" not in replica.pages:
            yield replica
            return
        self._buckets.open_params()
        try:
            yield replica
        finally:
            self._buckets.close_params()


def sharded_replica(master, setup, group, share):
    """Returns a worker's replica with its share of the state; raises ConfigError on a GPU."""
    backend = choose_backend(master.device, master.backend)
    if backend == "cuda":
        raise ConfigError(
            f"AllReduceSGD.shard must be None on a GPU, got {master.shard!r}; leave it out, or "
            "give device='cpu'"
        )
    part = params_part(master, setup.conf, group.rank, group.size)
    vectors = share[PARAMS], share[SLOTS], setup.state.buffers
    borrows = master.shard == "optimizer"
    return ShardedReplica(setup.conf, part, *vectors, backend, PAGED[master.shard], borrows)
