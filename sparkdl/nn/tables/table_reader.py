"""Rows of trained tables, to be read alone."""

import numpy as np

from sparkdl.nn.tables.first_rows import FirstRows
from sparkdl.nn.tables.row_store import IDS
from sparkdl.nn.tables.table_group import ROWS

NO_IDS = np.zeros(0, np.int64)


class TableReader:
    """Reads as a TableGroup of the same options does, from the arrays that `load` is given.

    It copies nothing and has nothing to set up, so a process that reads takes 8 bytes and a row for
    each id: places are found by bisection, and what optimizers keep is not there.
    """

    def __init__(self, names, dimension, optimizer, *, seed=0, scale=0.05, **_):
        self.names, self.dimension, self.state_names = tuple(names), dimension, tuple(names)
        self._first, self._tables = FirstRows(names, dimension, seed, scale), []

    def load(self, state):
        """Takes {"table/array": vector}, as `rows_to_read` gives them."""
        self._tables = [
            (
                state.get(f"{name}/{IDS}", NO_IDS),
                state.get(f"{name}/{ROWS}", NO_IDS).reshape(-1, self.dimension),
            )
            for name in self.names
        ]

    def read(self, keys):
        """See TableGroup.read."""
        rows, missing = np.empty((len(keys.ids), self.dimension), np.float32), []
        order = np.lexsort(keys[::-1])  # bisection is several times as fast in their order
        bounds = np.searchsorted(keys.tables[order], np.arange(len(self.names) + 1))
        for (ids, known), start, stop in zip(self._tables, bounds[:-1], bounds[1:], strict=True):
            own = order[start:stop]
            places, found = find(ids, keys.ids[own])
            rows[own[found]] = known[places[found]]
            missing.append(own[~found])
        missing = np.concatenate(missing)
        if len(missing):
            rows[missing] = self._first.of(keys.take(missing))
        return rows


def find(ids, wanted):
    """Returns (places (n,) in ids of those that are wanted, which of these are there)."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), bool)
    places = np.searchsorted(ids, wanted)
    places[places == len(ids)] = 0
    return places, ids[places] == wanted


def rows_to_read(arrays):
    """Returns the {"table/array": vector} that a TableReader takes, given those of tables.

    Ids are in order, which costs a copy of the rows where they are not.
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
