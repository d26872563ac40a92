"""Trained rows read without their tables: the same bits."""

import numpy as np
import pytest

from sparkdl.nn import Adam
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_group import TableGroup
from sparkdl.nn.tables.table_reader import ShardReaders, TableReader, rows_to_read
from sparkdl.nn.tables.table_shard import split_tables

NAMES = ("words", "users", "never trained")
OPTIONS = {"seed": 3, "scale": 0.1}
FAR = 2**62


@pytest.fixture
def trained(rng):
    group = TableGroup(NAMES, 3, Adam(), min_updates=2, expire_after=50, **OPTIONS)
    for t in range(1, 9):
        ids = np.unique(rng.integers(0, 30, 20)) * (FAR // 40)
        keys = RowKeys.of(rng.permutation(ids))
        keys.tables[:] = rng.integers(0, 2, len(ids))
        group.update(keys, rng.normal(size=(len(ids), 3)).astype(np.float32), 0.1, t)
    return group


def reader(arrays, kind=TableReader):
    table = kind(NAMES, 3, Adam(), min_updates=2, expire_after=50, **OPTIONS)
    table.load(arrays)
    return table


def stale(arrays):
    """Returns the state with other rows for the same ids."""
    return {n: of + 1 if n.endswith("/rows") else of for n, of in rows_to_read(arrays).items()}


LOADED = {
    "at once": (TableReader, rows_to_read),
    "in place of earlier ones": (TableReader, lambda a: [stale(a), {}, rows_to_read(a)]),
    "by owner": (
        ShardReaders,
        lambda arrays: [[stale(a), rows_to_read(a)] for a in split_tables(arrays, 3)],
    ),
}


KEYS = {
    "all ids of all tables": np.arange(-1, 31) * (FAR // 40) * (np.arange(-1, 31) >= 0),
    "none": np.zeros(0, np.int64),
    "the last one": np.array([2**63 - 1]),
}


@pytest.mark.parametrize("way", LOADED)
@pytest.mark.parametrize("name", KEYS)
def test_rows_have_the_bits_of_the_group(name, way, trained, rng):
    kind, given = LOADED[way]
    table = reader(given(trained.state()), kind)
    keys = RowKeys.of(np.tile(KEYS[name], 3))
    keys.tables[:] = np.arange(3).repeat(len(KEYS[name]))
    keys = keys.take(rng.permutation(len(keys.ids)))
    np.testing.assert_array_equal(table.read(keys), trained.read(keys))


def test_tables_without_rows_give_first_rows():
    for arrays in ({}, rows_to_read(TableGroup(NAMES, 3, Adam(), **OPTIONS).state())):
        keys = RowKeys.of([5, FAR], 1)
        first = TableGroup(NAMES, 3, Adam(), **OPTIONS).read(keys)
        np.testing.assert_array_equal(reader(arrays).read(keys), first)


def test_what_is_read_is_ids_in_order_and_rows_alone(trained):
    arrays = rows_to_read(trained.state())
    assert sorted(arrays) == sorted(f"{name}/{kind}" for name in NAMES for kind in ("ids", "rows"))
    assert all((np.diff(arrays[f"{name}/ids"]) > 0).all() for name in NAMES)
    assert len(arrays["words/ids"]) > 2


def test_arrays_in_order_are_not_copied(trained):
    arrays = rows_to_read(trained.state())
    again = rows_to_read(arrays)
    assert all(again[name] is array for name, array in arrays.items())
    table = reader(arrays)
    assert all(
        np.shares_memory(rows, arrays[f"{name}/rows"])
        for name, [(ids, rows)] in zip(NAMES, table._tables)
        if len(ids)
    )
