"""The part of tables that one of several workers owns."""

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.tables.id_index import IdIndex, hash_keys
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.row_store import IDS
from sparkdl.nn.tables.table_group import TableGroup


class TableShard(TableGroup):
    """The rows of a TableGroup that one worker owns; `read` returns rows that were pulled.

    `update`, `state` and `load` apply to its own rows. A row has the same bits as in an unsharded
    group: it has the same initial values, and only one worker updates it.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self._pulled = None

    def clear(self):
        """Forgets all rows, including pulled ones."""
        super().clear()
        self._pulled = None

    def hold(self, keys, rows):
        """Stores the rows (n, dimension) of distinct keys (n,) for `read`, replacing old ones."""
        index = IdIndex(len(self.names))
        index.add(keys, len(keys.ids))
        self._pulled = index, keys, rows

    def read(self, keys):
        """Returns the rows (n, dimension) of keys (n,) that were pulled."""
        if self._pulled is None:
            raise ConfigError(f"tables {self.names} are sharded; their rows must be pulled first")
        index, known, rows = self._pulled
        return rows.take(index.find(keys, known), axis=0)

    def read_own(self, keys):
        """Returns the rows (n, dimension) of keys (n,) owned by this worker."""
        return super().read(keys)


def owners_of(ids, workers):
    """Returns the rank (n,) of each id's owner: its hash modulo the number of workers."""
    return (hash_keys(RowKeys.of(ids)) % np.uint64(workers)).astype(np.int64)


def split_by_owner(ids, workers):
    """Returns [positions (m,) in `ids` of the ids that a worker owns], by rank, in order."""
    owners = owners_of(ids, workers)
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.searchsorted(owners[order], np.arange(1, workers)))


def split_tables(arrays, workers):
    """Splits the {"table/array": vector} of whole tables into one per worker."""
    shards = [{} for _ in range(workers)]
    for name in arrays:
        table, _, kind = name.rpartition("/")
        if kind == IDS:
            for shard, places in zip(shards, split_by_owner(arrays[name], workers), strict=True):
                shard |= take_rows(arrays, table, places)
    return shards


def take_rows(arrays, table, places):
    """Returns {"table/array": vector} of the rows of one table at these positions."""
    count, own = len(arrays[f"{table}/{IDS}"]), {}
    for name, array in arrays.items():
        if name.rpartition("/")[0] == table:
            own[name] = array.reshape(count, -1)[places].reshape(-1) if count else array
    return own


def join_tables(shards):
    """Joins shards into the {"table/array": vector} of whole tables, emptying the shards."""
    names = list(shards[0])
    return {name: np.concatenate([shard.pop(name) for shard in shards]) for name in names}
