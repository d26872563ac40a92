"""Rows that workers pull from those who own them, perhaps ahead of their use."""

import numpy as np

from sparkdl.nn.tables.bags import RowGradients
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_shard import split_by_owner
from sparkdl.training.masters.all_reduce.row_exchange import decode, encode


class RowPull:
    """Asks the owners of rows for them; all workers make one at the same time.

    A pull that was started goes on beside the computation. What owners update meanwhile, `refresh`
    sends after it: of each row that has other bits, these.

    Parameters
    ----------
    worker : Worker
        Its replica's groups are TableShards.
    keys : list of RowKeys, or None
        Each once, of each group; None for none.
    over : bool
        Whether this worker pulls nothing more.
    """

    def __init__(self, worker, keys, over=False):
        self.worker, groups = worker, worker.replica.groups
        self.keys = [RowKeys.of([])] * len(groups) if keys is None else keys
        self._places = [split_by_owner(own.ids, worker.size) for own in self.keys]
        self._requests = [
            encode(
                over, [without_rows(own.take(by[r])) for own, by in zip(self.keys, self._places)]
            )
            for r in range(worker.size)
        ]
        self._asked, self._given, self._pending, self.all_over = None, None, None, None

    def run(self):
        """Gives the groups the rows, to read."""
        with self.worker.exchanging():
            self._take(self.worker.group.ask(self._requests, self._answer))
        self._hold()

    def start(self):
        """Begins to fetch the rows; `wait` must follow before any are updated."""
        self._pending = self.worker.group.start_ask(self._requests, self._answer)

    def wait(self):
        """Waits for the rows."""
        with self.worker.exchanging():
            self._take(self._pending.wait())

    def refresh(self):
        """Gives the groups the rows, to read, as they are after an update."""
        messages = []
        for asked, given in zip(self._asked, self._given, strict=True):
            fresh = self._rows_of(asked)
            messages.append(encode(0, [changed(*pair) for pair in zip(given, fresh, strict=True)]))
        with self.worker.exchanging():
            received = self.worker.group.all_to_all_bytes(messages)
        for r, message in enumerate(received):
            _, parts = decode(message, [group.dimension for group in self.worker.replica.groups])
            for rows, by_rank, part in zip(self._rows, self._places, parts, strict=True):
                rows[by_rank[r][part.keys.ids]] = part.rows
        self._hold()

    def _answer(self, requests):
        """Returns the bytes for each rank: the rows that it asks this worker for."""
        none = [0] * len(self.keys)
        said, parts = zip(*(decode(request, none) for request in requests), strict=True)
        self.all_over = all(said)
        self._asked = [[part.keys for part in own] for own in parts]
        self._given = [self._rows_of(own) for own in self._asked]
        return [
            np.concatenate([of.reshape(-1) for of in own]).view(np.uint8) for own in self._given
        ]

    def _rows_of(self, keys):
        """Returns [rows (n, dimension) of each group] that this worker owns."""
        groups = self.worker.replica.groups
        return [group.read_own(own) for group, own in zip(groups, keys, strict=True)]

    def _take(self, answers):
        """Keeps the rows of all groups, from the answers of all ranks."""
        answers, starts = [answer.view(np.float32) for answer in answers], [0] * len(answers)
        self._rows, groups = [], self.worker.replica.groups
        for group, own, by_rank in zip(groups, self.keys, self._places, strict=True):
            rows = np.empty((len(own.ids), group.dimension), np.float32)
            for r, at in enumerate(by_rank):
                stop = starts[r] + len(at) * group.dimension
                rows[at] = answers[r][starts[r] : stop].reshape(-1, group.dimension)
                starts[r] = stop
            self._rows.append(rows)

    def _hold(self):
        groups = self.worker.replica.groups
        for group, keys, rows in zip(groups, self.keys, self._rows, strict=True):
            group.hold(keys, rows)


def without_rows(keys):
    """Returns RowGradients that say no more than these keys (n,): rows are (n, 0)."""
    return RowGradients(keys, np.zeros((len(keys.ids), 0), np.float32))


def changed(old, new):
    """Returns the rows (m, d) of `new` that differ from those of `old`, by their places in it.

    They are RowGradients whose ids are the places.
    """
    places = np.flatnonzero((old != new).any(1))
    return RowGradients(RowKeys.of(places), new[places])
