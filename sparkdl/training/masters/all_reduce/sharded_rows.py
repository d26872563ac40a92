"""Exchange of rows and row gradients of sharded tables between workers and the rows' owners."""

from contextlib import contextmanager

from sparkdl.nn.tables.bags import RowGradients
from sparkdl.nn.tables.table_shard import split_by_owner
from sparkdl.training.masters.all_reduce.row_exchange import RowExchange, encode
from sparkdl.training.masters.all_reduce.row_pull import RowPull


class ShardedRows(RowExchange):
    """Like RowExchange, for a replica whose tables are TableShards.

    Before an update each worker pulls the rows of its minibatches from their owners. Once it has
    the gradients, it sends them to the rows' owners, which add them up in the order of ranks. All
    workers do the same with whole tables, so the rows are bitwise equal. The rows of the next
    update travel while the gradients of the current one are computed; rows that the current
    update changes are sent again after it.
    """

    def __init__(self, worker):
        super().__init__(worker)
        self._ahead = None

    def begin(self, steps, following=None):
        if self._ahead is None:
            self.pull(self._keys_of(steps))
        else:
            self._ahead.refresh()
            self._ahead = None
        if following is not None:
            self._ahead = RowPull(self.worker, self._keys_of(following))
            self._ahead.start()

    def end(self):
        if self._ahead is not None:
            self._ahead.wait()  # so that no owner updates rows while it sends them
        super().end()

    def pull(self, keys, over=False):
        """Pulls the rows of keys: [RowKeys of each group, no duplicates]; all workers call it.

        None stands for no keys. Returns True if all workers have said that they are `over`.
        """
        pull = RowPull(self.worker, keys, over)
        pull.run()
        return pull.all_over

    @contextmanager
    def pulling(self):
        """Makes the replica pull the rows of each batch that it reads, until all workers are done.

        Workers may read different numbers of batches: those that finish early keep answering the
        rest.
        """
        replica = self.worker.replica
        replica.pull = self.pull
        try:
            yield
        finally:
            replica.pull = None
        while not self.pull(None, over=True):
            pass

    def _keys_of(self, steps):
        return self.worker.replica.keys_of([step.batch for step in steps]) if steps else None

    def _send(self, weight, own):
        """Sends [RowGradients] to the rows' owners; returns the messages for this worker."""
        split = [(part, split_by_owner(part.keys.ids, self.worker.size)) for part in own]
        messages = [
            encode(weight, [take(part, by[r]) for part, by in split])
            for r in range(self.worker.size)
        ]
        with self.worker.exchanging():
            return self.worker.group.all_to_all_bytes(messages)


def take(part, places):
    """Returns the RowGradients at these places."""
    return RowGradients(part.keys.take(places), part.rows[places])
