"""Strategy of AllReduceSGD in a worker: gradients are summed in buckets."""

from contextlib import contextmanager, nullcontext
from itertools import chain, islice, pairwise

from sparkdl.exchange.devices.group import DeviceGroup
from sparkdl.training.masters.all_reduce.buckets import Buckets, bucket_bytes, clamp_bucket_bytes
from sparkdl.training.masters.all_reduce.device_buckets import DeviceBuckets
from sparkdl.training.masters.all_reduce.row_exchange import RowExchange
from sparkdl.training.masters.all_reduce.shard_writer import ShardWriter
from sparkdl.training.masters.all_reduce.sharded_rows import ShardedRows
from sparkdl.training.masters.all_reduce.sharding import TABLES
from sparkdl.training.resident.buffer_mean import mean_buffers
from sparkdl.training.resident.control import VECTORS
from sparkdl.training.resident.per_worker_state import prefix
from sparkdl.training.resident.strategy import Strategy
from sparkdl.training.resident.synchronization import synchronize

ON_DEVICES = 4 << 20, 32 << 20  # minimum and maximum bytes of a bucket


class AllReduceWorker(Strategy):
    """Strategy of AllReduceSGD in a worker."""

    lockstep = True

    def __init__(self, master, worker):
        super().__init__(master, worker)
        self._buckets = self.buckets()
        self._shards_tables, self._rows = master.shards_tables(worker.conf), None
        if worker.conf.bags:
            self._rows = (ShardedRows if self._shards_tables else RowExchange)(worker)
        folder = worker.tables.folder if self._shards_tables else None
        self._writer = folder and ShardWriter(folder, worker.rank, worker.replica.groups)

    def buckets(self):
        """Returns the Buckets that suit the way in which workers exchange."""
        return buckets_for(self.master, self.worker)

    def round(self, steps):
        trained = 0
        for own, following in self._updates(steps):
            trained += self._update(own, following)
        self._buckets.settle()
        mean_buffers(self.worker, trained)

    def end_epoch(self) -> None:
        period = self.master.sync_epochs
        if period is not None and (self.worker.epoch + 1) % period == 0:
            synchronize(self.worker)

    def state(self):
        if not self._shards_tables:
            return super().state()
        replica = self.worker.replica
        return {name: getattr(replica, name) for name in VECTORS} | {"tables": {}}

    def worker_state(self):
        own = self._buckets.worker_state()
        if not self._shards_tables:
            return own
        if self._writer is not None:
            return own | prefix(TABLES, self._writer.write())
        return own | prefix(TABLES, self.worker.replica.table_arrays())

    @contextmanager
    def in_use(self):
        rows = nullcontext() if self._rows is None else self._rows.pulling()
        with super().in_use() as replica, rows:
            yield replica

    def flush(self):
        """Returns `Buckets.flush`, for a strategy that continues with another kind of exchange."""
        return self._buckets.flush()

    def _updates(self, steps):
        """Yields (the steps of an update, perhaps none; the next update's, or None if unknown).

        With tbptt the next steps depend on the state that these leave behind.
        """
        groups = iter(lambda: list(islice(steps, self.master.accumulate)), [])
        own = ([step for step in group if step is not None] for group in groups)
        if not self._shards_tables or self.worker.conf.tbptt is not None:
            return ((group, None) for group in own)
        return pairwise(chain(own, [None]))

    def _update(self, steps, following=None):
        """Makes one update on all workers; `steps` are this worker's own, perhaps none."""
        weights = [self._weight(step) for step in steps]
        self._buckets.begin(sum(weights))
        if self._rows is not None:
            self._rows.begin(steps, following)
        for step, weight in zip(steps[:-1], weights[:-1], strict=True):
            self.worker.gradient(step)
            self._buckets.keep(weight)
            self._keep_rows(weight)
        if steps:
            self._buckets.last(steps[-1], weights[-1])
            self._keep_rows(weights[-1])
        else:
            self._buckets.add_zeros()
        self._buckets.end()
        if self._rows is not None:
            self._rows.end()
        self.apply()
        return sum(len(step.batch) for step in steps)

    def _keep_rows(self, weight):
        if self._rows is not None:
            self._rows.keep(weight)

    def apply(self) -> None:
        """Updates with the mean gradient."""
        self.worker.apply()

    def _weight(self, step):
        return len(step.batch) if self.master.normalize == "examples" else 1


def buckets_for(master, worker):
    """Returns the buckets that suit the way in which workers exchange."""
    conf = worker.conf
    if isinstance(worker.group, DeviceGroup) and master.codec is None:
        nbytes = master.bucket_bytes or clamp_bucket_bytes(conf, 6, *ON_DEVICES)
        return DeviceBuckets(worker, nbytes)
    return Buckets(worker, bucket_bytes(master, conf), master.codec)
