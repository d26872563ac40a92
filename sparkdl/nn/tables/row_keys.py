"""Keys of rows, a table and an id each, and the grouping of equal keys."""

from typing import NamedTuple

import numpy as np

from sparkdl.engine.native import hash_tables
from sparkdl.errors import UnsupportedError

PADDING = -1
MOST_TABLES = 2**15  # their indices are int16


class RowKeys(NamedTuple):
    """Keys of rows in several tables: `tables` (n,) int16, `ids` (n,) int64, -1 for padding."""

    tables: np.ndarray
    ids: np.ndarray

    @classmethod
    def of(cls, ids, table=0):
        """Returns the keys of ids (n,) of one table."""
        return cls(np.full(len(ids), table, np.int16), np.asarray(ids, np.int64))

    def take(self, places):
        """Returns the keys at these positions."""
        return RowKeys(self.tables[places], self.ids[places])


def join_keys(parts):
    """Concatenates several RowKeys."""
    if len(parts) == 1:
        return parts[0]
    return RowKeys(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def number_keys(keys):
    """Returns (distinct keys (u,) in order of first appearance, numbers (n,)).

    The number of a key is its index in the distinct keys, -1 if its id is -1. A compiled loop does
    it if there is a compiler, else numpy, with the same result.
    """
    count = len(keys.ids)
    numbers, firsts = np.empty(count, np.int64), np.empty(count, np.int64)
    try:
        found = hash_tables.number(keys, free_entries(2 * count + 1), firsts, numbers)
    except UnsupportedError:
        return number_by_sorting(keys)
    return keys.take(firsts[:found]), numbers


def number_by_sorting(keys):
    """Implements `number_keys` with numpy."""
    order = np.lexsort(keys[::-1])
    order = order[keys.ids[order] != PADDING]
    sorted_ = keys.take(order)
    starts = np.ones(len(order), bool)
    starts[1:] = np.diff(sorted_.ids).astype(bool) | np.diff(sorted_.tables).astype(bool)
    firsts = order[starts]  # the first of equal keys, as lexsort is stable
    by_appearance = np.argsort(firsts)
    ranks = np.empty(len(firsts), np.int64)
    ranks[by_appearance] = np.arange(len(firsts))
    numbers = np.full(len(keys.ids), PADDING, np.int64)
    numbers[order] = ranks[np.cumsum(starts) - 1]
    return keys.take(firsts[by_appearance]), numbers


def sum_rows(parts, numbers, count):
    """Returns (count, d): for each number the sum of the rows (n, d) with that number.

    Terms are added in order, starting from 0; rows with the number -1 are ignored.

    Parameters
    ----------
    parts : list of arrays (m, d)
        The rows, in consecutive parts.
    """
    sums = np.zeros((count, parts[0].shape[1]), np.float32)
    try:
        parts = [np.ascontiguousarray(rows, np.float32) for rows in parts]
        hash_tables.add_rows(parts, numbers, sums)
    except UnsupportedError:
        some = numbers != PADDING
        np.add.at(sums, numbers[some], np.concatenate(parts)[some])
    return sums


def free_entries(size):
    """Returns the entries of an empty hash table."""
    return np.full(size, PADDING, np.int32)
