"""Rows and row gradients of sharded tables: from the workers that own them, and to these."""

from contextlib import contextmanager

import numpy as np

from sparkdl.nn.tables.bags import RowGradients
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_shard import split_by_owner
from sparkdl.training.masters.all_reduce.row_exchange import RowExchange, decode, encode


class ShardedRows(RowExchange):
    """As RowExchange, for a replica whose tables are TableShards.

    Before an update each worker pulls the rows of its minibatches from their owners. After it has
    the gradients, each owner gets those of its rows, and adds them up in the order of ranks, as all
    workers do where tables are whole: so rows have the same bits.
    """

    def begin(self, steps):
        replica = self.worker.replica
        self.pull(replica.keys_of([step.batch for step in steps]) if steps else None)

    def pull(self, keys, over=False):
        """Pulls the rows of keys, [RowKeys, each once, of each group]; all workers call it.

        None stands for no keys. Returns whether all workers have said that they are `over`.
        """
        groups, ranks = self.worker.replica.groups, range(self.worker.size)
        keys = [RowKeys.of([])] * len(groups) if keys is None else keys
        places = [split_by_owner(own.ids, self.worker.size) for own in keys]
        messages = [
            encode(over, [without_rows(own.take(by[r])) for own, by in zip(keys, places)])
            for r in ranks
        ]
        asked = [decode(message, [0] * len(groups)) for message in self._exchange(messages)]
        answers = self._exchange([self._rows_of(parts) for _, parts in asked])
        hold_rows(groups, keys, places, answers)
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
        while not self.pull(None, over=True):
            pass

    def _send(self, weight, own):
        """Sends the owners of rows [RowGradients]; returns the messages for this worker."""
        split = [(part, split_by_owner(part.keys.ids, self.worker.size)) for part in own]
        return self._exchange(
            [
                encode(weight, [take(part, by[r]) for part, by in split])
                for r in range(self.worker.size)
            ]
        )

    def _exchange(self, messages):
        with self.worker.exchanging():
            return self.worker.group.all_to_all_bytes(messages)

    def _rows_of(self, parts):
        """Returns the bytes of the rows of keys of each group, which this worker owns."""
        groups = self.worker.replica.groups
        rows = [group.read_own(part.keys) for group, part in zip(groups, parts, strict=True)]
        return np.concatenate([of.reshape(-1) for of in rows]).view(np.uint8)


def take(part, places):
    """Returns the RowGradients at these places."""
    return RowGradients(part.keys.take(places), part.rows[places])


def without_rows(keys):
    """Returns RowGradients that say no more than these keys (n,): rows are (n, 0)."""
    return RowGradients(keys, np.zeros((len(keys.ids), 0), np.float32))


def hold_rows(groups, keys, places, answers):
    """Gives groups the rows of the keys that they want, from the answers of all ranks.

    Parameters
    ----------
    groups : TableShards
    keys : list of RowKeys
        By group.
    places : list of list of (m,) int64
        By group and rank: which of the keys were asked of it.
    answers : list of uint8 arrays
        By rank: the rows of all groups, one after the other.
    """
    answers, starts = [answer.view(np.float32) for answer in answers], [0] * len(answers)
    for group, own, by_rank in zip(groups, keys, places, strict=True):
        rows = np.empty((len(own.ids), group.dimension), np.float32)
        for r, at in enumerate(by_rank):
            stop = starts[r] + len(at) * group.dimension
            rows[at] = answers[r][starts[r] : stop].reshape(-1, group.dimension)
            starts[r] = stop
        group.hold(own, rows)
