"""Pull of rows from the workers that own them, possibly ahead of their use."""

import numpy as np

from sparkdl.nn.tables.bags import RowGradients
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_shard import split_by_owner
from sparkdl.training.masters.all_reduce.row_exchange import decode, encode


class RowPull:
    """Fetches rows from their owners; all workers must create one at the same time.

    A started pull runs concurrently with computation. `refresh` then sends the rows that owners
    have updated in the meantime, if their bits differ.

    Parameters
    ----------
    worker : Worker
        Its replica's groups are TableShards.
    keys : list of RowKeys, or None
        Without duplicates, one per group; None for no keys.
    over : bool
        Whether this worker has nothing more to pull.
    """

    def __init__(self, worker, keys, over=False):
        self.worker, groups = worker, worker.replica.groups
        self.keys = [RowKeys.of([])] * len(groups) if keys is None else keys
        self._places = [split_by_owner(own.ids, worker.size) for own in self.keys]
        self._requests = [self._request(r, over) for r in range(worker.size)]
        self._asked, self._given, self._pending, self.all_over = None, None, None, None

    def run(self):
        """Fetches the rows and hands them to the groups."""
        with self.worker.exchanging():
            self._take(self.worker.group.ask(self._requests, self._answer))
        self._hold()

    def start(self):
        """Starts to fetch the rows; call `wait` before any of them are updated."""
        self._pending = self.worker.group.start_ask(self._requests, self._answer)

    def wait(self):
        """Waits for the rows."""
        with self.worker.exchanging():
            self._take(self._pending.wait())

    def refresh(self):
        """Fetches rows changed by an update, and hands all rows to the groups."""
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

    def _request(self, rank, over):
        """Returns the encoded keys that a rank owns."""
        pairs = zip(self.keys, self._places, strict=True)
        return encode(over, [without_rows(own.take(by_rank[rank])) for own, by_rank in pairs])

    def _answer(self, requests):
        """Returns the bytes of the rows that each rank has requested from this worker."""
        none = [0] * len(self.keys)
        said, parts = zip(*(decode(request, none) for request in requests), strict=True)
        self.all_over = all(said)
        self._asked = [[part.keys for part in own] for own in parts]
        self._given = [self._rows_of(own) for own in self._asked]
        return [
            np.concatenate([of.reshape(-1) for of in own]).view(np.uint8) for own in self._given
        ]

    def _rows_of(self, keys):
        """Returns [rows (n, dimension) of each group], of keys that this worker owns."""
        groups = self.worker.replica.groups
        return [group.read_own(own) for group, own in zip(groups, keys, strict=True)]

    def _take(self, answers):
        """Stores the rows of all groups from the answers of all ranks."""
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
    """Returns RowGradients with only these keys (n,): rows are (n, 0)."""
    return RowGradients(keys, np.zeros((len(keys.ids), 0), np.float32))


def changed(old, new):
    """Returns the rows (m, d) of `new` whose bits differ from those of `old`, as RowGradients.

    Their ids are the positions of the rows. 0.0 and -0.0 differ; a NaN is the same as its copy.
    """
    places = np.flatnonzero((old.view(np.uint32) != new.view(np.uint32)).any(1))
    return RowGradients(RowKeys.of(places), new[places])
