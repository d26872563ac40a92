"""Read-only access to rows of trained tables."""

from functools import partial

import numpy as np

from sparkdl.nn.tables.first_rows import FirstRows
from sparkdl.nn.tables.row_store import IDS
from sparkdl.nn.tables.table_group import ROWS
from sparkdl.nn.tables.table_shard import split_by_owner

NO_IDS = np.zeros(0, np.int64)


class TableReader:
    """A read-only TableGroup over the arrays passed to `load`.

    It copies nothing and builds no index, so it takes 8 bytes and a row per id: positions are found
    by bisection, and optimizer slots are not loaded.
    """

    def __init__(self, names, dimension, optimizer, *, seed=0, scale=0.05, **_):
        self.names, self.dimension, self.state_names = tuple(names), dimension, tuple(names)
        self._first, self._tables = FirstRows(names, dimension, seed, scale), []

    def load(self, states):
        """Takes {"table/array": vector} as returned by `rows_to_read`, or a list of such.

        Rows of later ones replace those of earlier ones.
        """
        states = states if isinstance(states, list) else [states]
        self._tables = [[self._rows_of(state, name) for state in states] for name in self.names]

    def _rows_of(self, state, name):
        rows = state.get(f"{name}/{ROWS}", NO_IDS)
        return state.get(f"{name}/{IDS}", NO_IDS), rows.reshape(-1, self.dimension)

    def read(self, keys):
        """See TableGroup.read."""
        rows, missing = np.empty((len(keys.ids), self.dimension), np.float32), []
        order = np.lexsort(keys[::-1])  # bisection is several times faster in key order
        bounds = np.searchsorted(keys.tables[order], np.arange(len(self.names) + 1))
        for parts, start, stop in zip(self._tables, bounds[:-1], bounds[1:], strict=True):
            own = order[start:stop]
            for ids, known in reversed(parts):
                places, found = find(ids, keys.ids[own])
                rows[own[found]] = known[places[found]]
                own = own[~found]
            missing.append(own)
        missing = np.concatenate(missing)
        if len(missing):
            rows[missing] = self._first.of(keys.take(missing))
        return rows


class ShardReaders:
    """A TableReader per owner of rows, in the place of TableShards."""

    def __init__(self, *args, **options):
        self._new = partial(TableReader, *args, **options)
        self.names = self.state_names = self._new().names

    def load(self, shards):
        """Takes a list with the states of each owner's TableReader."""
        self._readers = [self._new() for _ in shards]
        for reader, states in zip(self._readers, shards, strict=True):
            reader.load(states)

    def read(self, keys):
        """See TableGroup.read."""
        owned = split_by_owner(keys.ids, len(self._readers))
        rows = [r.read(keys.take(own)) for r, own in zip(self._readers, owned, strict=True)]
        whole = np.empty((len(keys.ids), rows[0].shape[1]), np.float32)
        whole[np.concatenate(owned)] = np.concatenate(rows)
        return whole


def find(ids, wanted):
    """Returns (positions (n,) in the sorted `ids`, which of `wanted` were found)."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    places = np.searchsorted(ids, wanted)
    places[places == len(ids)] = 0
    return places, ids[places] == wanted


def rows_to_read(arrays):
    """Returns the {"table/array": vector} for a TableReader, from the arrays of tables.

    Ids are sorted; the rows are copied only if they were not.
    """
    found = {}
    for name, ids in arrays.items():
        table, _, kind = name.rpartition("/")
        rows = arrays.get(f"{table}/{ROWS}")
        if kind == IDS and rows is not None:  # counts of a filter have no rows
            found |= sort_rows(table, ids, rows)
    return found


def sort_rows(table, ids, rows):
    if (ids[1:] > ids[:-1]).all():
        return {f"{table}/{IDS}": ids, f"{table}/{ROWS}": rows}
    order = np.argsort(ids)
    rows = rows.reshape(len(ids), -1)[order].reshape(-1)
    return {f"{table}/{IDS}": ids[order], f"{table}/{ROWS}": rows}
