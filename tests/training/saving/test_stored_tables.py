"""Rows in files are read completely, for one worker, or by lookup."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from sparkdl.errors import CheckpointError
from sparkdl.nn import Adam
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_group import TableGroup
from sparkdl.nn.tables.table_reader import ShardReaders
from sparkdl.nn.tables.table_shard import TableShard, split_by_owner
from sparkdl.training.saving.stored_tables import (
    PINNED,
    StoredTables,
    keep_files,
    read_tables,
    tables_to_read,
    verify_tables,
)
from sparkdl.training.saving.table_file import write_table_file

NAMES, OPTIONS = ("words", "users"), {"min_updates": 2, "seed": 3}
OWNERS = 3


def keys(ids):
    both = RowKeys.of(np.tile(ids, 2))
    both.tables[: len(ids)] = 1
    return both


def update(groups, ids, t):
    """Updates the rows of these ids in both tables, in the groups that own them."""
    owned = split_by_owner(ids, len(groups))
    for group, places in zip(groups, owned):
        own = keys(ids[places])
        slopes = np.sin(own.ids[:, None] + np.arange(3)).astype(np.float32)
        group.update(own, slopes, 0.1, t)


@pytest.fixture
def trained(tmp_path):
    """Returns (group with all rows, the same rows in two files from each of three owners)."""
    whole = TableGroup(NAMES, 3, Adam(), **OPTIONS)
    shards = [TableShard(NAMES, 3, Adam(), **OPTIONS) for _ in range(OWNERS)]
    files = [[] for _ in shards]
    for t, ids in enumerate((np.arange(60), np.arange(50), np.arange(40, 90), np.arange(80, 99))):
        update([whole], ids, t + 1)
        update(shards, ids, t + 1)
        if t % 2:
            for owner, shard in enumerate(shards):
                arrays = [
                    array
                    for store in shard.stores
                    for array in store.stream(store.changed() if t > 1 else None)
                ]
                path = f"{tmp_path}/{owner}-{t}"
                files[owner].append(write_table_file(path, arrays))
                for store in shard.stores:
                    store.track_changes()
    return whole, StoredTables(tuple(map(tuple, files)))


def rows_by_id(arrays):
    """Returns {name: array by id}, given {"table/array": vector}."""
    found = {}
    for name, array in arrays.items():
        ids = arrays[f"{name.rpartition('/')[0]}/ids"]
        found[name] = array.reshape(len(ids), -1)[np.argsort(ids)]
    return found


def assert_same(found, expected):
    found, expected = rows_by_id(found), rows_by_id(expected)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.slow
def test_all_rows_are_those_of_a_whole_group(trained):
    whole, stored = trained
    assert_same(stored.read(), whole.state())
    assert_same(read_tables(stored), read_tables(whole.state()))
    later = [file.bytes for shard in stored.shards for file in shard[1:]]
    assert sum(later) < sum(shard[0].bytes for shard in stored.shards)


@pytest.mark.parametrize("workers", [1, 2, OWNERS, 5])
def test_workers_have_their_own_rows_whoever_wrote_them(workers, trained):
    whole, stored = trained
    joined = {}
    for rank in range(workers):
        shard = TableShard(NAMES, 3, Adam(), **OPTIONS)
        shard.load(stored.read_own(rank, workers))
        state = shard.state()
        every = np.arange(99)
        expected = every[split_by_owner(every, workers)[rank]]
        assert set(state["words/ids"]) | set(state["words/seen/ids"]) == set(expected)
        joined = {n: np.concatenate([joined.get(n, a[:0]), a]) for n, a in state.items()}
    assert_same(joined, whole.state())


def test_readers_read_the_files(trained):
    whole, stored = trained
    reader = ShardReaders(NAMES, 3, Adam(), **OPTIONS)
    reader.load(tables_to_read(stored).open_to_read())
    wanted = keys(np.random.default_rng(0).permutation(200))
    np.testing.assert_array_equal(reader.read(wanted), whole.read(wanted))


def test_tables_without_files_are_none():
    assert not StoredTables() and StoredTables().read() == {}


def test_a_copy_of_the_object_is_the_object(trained):
    _, stored = trained
    assert copy.deepcopy([stored])[0] is stored
    assert pickle.loads(pickle.dumps(stored)).files == stored.files


def test_files_that_predictions_read_stay(trained):
    _, stored = trained
    others = set(PINNED)  # from earlier tests in this process
    assert keep_files(stored) is stored and keep_files({}) == {}
    assert PINNED - others == {stored}
    PINNED.discard(stored)


def test_damage_is_found(trained):
    _, stored = trained
    verify_tables(stored)
    verify_tables({})
    Path(stored.files[-1].path).write_bytes(b"x" * stored.files[-1].bytes)
    with pytest.raises(CheckpointError, match="damaged, sha256 is"):
        verify_tables(stored)
