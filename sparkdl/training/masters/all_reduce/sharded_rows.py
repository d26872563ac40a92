"""Rows and row gradients of sharded tables: from the workers that own them, and to these."""

from contextlib import contextmanager

import numpy as np

from sparkdl.nn.tables.bags import RowGradients, unite
from sparkdl.nn.tables.table_shard import split_by_owner
from sparkdl.training.masters.all_reduce.row_exchange import RowExchange, decode, encode

NO_IDS = np.zeros(0, np.int64)


class ShardedRows(RowExchange):
    """As RowExchange, for a replica whose tables are TableShards.

    Before an update each worker pulls the rows of its minibatches from their owners. After it has
    the gradients, each owner gets those of its rows, and adds them up in the order of ranks, as all
    workers do where tables are whole: so rows have the same bits.
    """

    def begin(self, steps):
        self.pull(unite([self.worker.replica.ids_of(step.batch) for step in steps]))

    def pull(self, ids, over=False):
        """Pulls the rows of {table: ids (n,), rising, each once}; all workers call it.

        Returns whether all of them have said that they are `over`.
        """
        tables = self.worker.replica.tables
        wanted = [ids.get(name, NO_IDS) for name in tables]
        places = [split_by_owner(of, self.worker.size) for of in wanted]
        messages = [
            encode(over, [without_rows(of[by_rank[r]]) for of, by_rank in zip(wanted, places)])
            for r in range(self.worker.size)
        ]
        asked = [decode(message, [0] * len(tables)) for message in self._exchange(messages)]
        answers = self._exchange([self._rows_of(parts) for _, parts in asked])
        hold_rows(tables.values(), wanted, places, answers)
        return all(said for said, _ in asked)

    @contextmanager
    def pulling(self):
        """Has the replica pull for each batch that it reads; all workers leave this together.

        They may have as many batches as they like: who has no more answers the others.
        """
        replica = self.worker.replica
        replica.pull = self.pull
        try:
            yield
        finally:
            replica.pull = None
        while not self.pull({}, over=True):
            pass

    def _send(self, weight, own):
        """Sends the owners of rows {table: RowGradients}; returns the messages for this worker."""
        split = [(part, split_by_owner(part.ids, self.worker.size)) for part in own.values()]
        messages = [
            encode(weight, [RowGradients(part.ids[by[r]], part.rows[by[r]]) for part, by in split])
            for r in range(self.worker.size)
        ]
        return self._exchange(messages)

    def _exchange(self, messages):
        with self.worker.exchanging():
            return self.worker.group.all_to_all_bytes(messages)

    def _rows_of(self, parts):
        """Returns the bytes of the rows of ids of each table, which this worker owns."""
        tables = self.worker.replica.tables.values()
        rows = [table.read_own(part.ids) for table, part in zip(tables, parts, strict=True)]
        return np.concatenate([of.reshape(-1) for of in rows]).view(np.uint8)


def without_rows(ids):
    """Returns RowGradients of ids (n,) that say no more than these: rows are (n, 0)."""
    return RowGradients(ids, np.zeros((len(ids), 0), np.float32))


def hold_rows(tables, wanted, places, answers):
    """Gives tables the rows of the ids that they want, from the answers of all ranks.

    Parameters
    ----------
    tables : TableShards
    wanted : list of (n,) int64
        By table.
    places : list of list of (m,) int64
        By table and rank: which of the ids were asked of it.
    answers : list of uint8 arrays
        By rank: the rows of all tables, one after the other.
    """
    answers, starts = [answer.view(np.float32) for answer in answers], [0] * len(answers)
    for table, ids, by_rank in zip(tables, wanted, places, strict=True):
        rows = np.empty((len(ids), table.dimension), np.float32)
        for r, own in enumerate(by_rank):
            stop = starts[r] + len(own) * table.dimension
            rows[own] = answers[r][starts[r] : stop].reshape(-1, table.dimension)
            starts[r] = stop
        table.hold(ids, rows)
