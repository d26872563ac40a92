"""Sharded tables: the owner of each id, and whole tables rebuilt from shards."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Adam
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_group import TableGroup
from sparkdl.nn.tables.table_shard import (
    TableShard,
    join_tables,
    owners_of,
    split_by_owner,
    split_tables,
)

IDS = np.sort(np.random.default_rng(0).choice(2**62, 3000, replace=False)) * 2


def trained(kind, ids, **options):
    table = kind(["words"], 3, Adam(), **options)
    for t in (1, 2):
        slopes = (ids[:, None] % 7).repeat(3, 1).astype(np.float32)
        table.update(RowKeys.of(ids), slopes, 0.1, t)
    return table


@pytest.mark.parametrize("workers", [1, 2, 3, 64])
def test_each_id_has_one_owner_and_all_own_as_many(workers):
    places = split_by_owner(IDS, workers)
    assert sorted(np.concatenate(places)) == [*range(len(IDS))]
    assert all((owners_of(IDS[own], workers) == rank).all() for rank, own in enumerate(places))
    counts, mean = np.array([len(own) for own in places]), len(IDS) / workers
    assert np.abs(counts - mean).max() <= 4 * np.sqrt(mean)  # four standard deviations


def test_shards_have_the_rows_of_a_whole_table_and_make_one_up():
    whole = trained(TableGroup, IDS)
    shards = split_tables(whole.state(), 3)
    for shard, places in zip(shards, split_by_owner(IDS, 3), strict=True):
        alone, own = trained(TableShard, IDS[places]), RowKeys.of(IDS[places])
        for name, array in alone.state().items():
            np.testing.assert_array_equal(shard[name], array)
        np.testing.assert_array_equal(alone.read_own(own), whole.read(own))
    again = TableGroup(["words"], 3, Adam())
    again.load(join_tables(shards))
    every = RowKeys.of(IDS)
    np.testing.assert_array_equal(again.read(every), whole.read(every))


def test_counts_and_last_updates_are_split_and_joined_as_rows_are():
    options = {"min_updates": 2, "expire_after": 9}
    whole = trained(TableGroup, IDS[:100], **options)
    whole.update(RowKeys.of(IDS[100:150]), np.ones((50, 3), np.float32), 0.1, 3)
    again = TableGroup(["words"], 3, Adam(), **options)
    again.load(join_tables(split_tables(whole.state(), 3)))
    for group in (whole, again):
        group.update(RowKeys.of(IDS[120:180]), np.ones((60, 3), np.float32), 0.1, 4)
        group.update(RowKeys.of([]), np.ones((0, 3), np.float32), 0.1, 9)
    assert len(again) == len(whole) == 130
    every = RowKeys.of(IDS[:200])
    np.testing.assert_array_equal(again.read(every), whole.read(every))


def test_tables_without_rows_are_split_and_joined():
    arrays = TableGroup(["words"], 3, Adam()).state()
    again = join_tables(split_tables(arrays, 2))
    assert {name: of.shape for name, of in again.items()} == dict.fromkeys(arrays, (0,))
    assert split_tables({}, 2) == [{}, {}]


def test_a_shard_reads_what_was_pulled():
    shard = TableShard(["words"], 1, Adam())
    with pytest.raises(ConfigError, match="are sharded; their rows must be pulled first"):
        shard.read(RowKeys.of([3]))
    shard.hold(RowKeys.of([9, 3, 5]), np.float32([[3], [1], [2]]))
    assert shard.read(RowKeys.of([9, 3])).tolist() == [[3], [1]]
