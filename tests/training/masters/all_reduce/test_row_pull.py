"""Pulls of rows that other workers own: at once, and ahead of an update."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.nn import Sgd
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_group import TableGroup
from sparkdl.nn.tables.table_shard import TableShard, split_by_owner
from sparkdl.training.masters.all_reduce.row_pull import RowPull, changed
from tests.exchange.crew import crew

TABLES = (("words", "users"), 3), (("cross",), 1)  # names, dimension
IDS = np.arange(100)


def tables(kind=TableGroup):
    return [kind(names, dimension, Sgd(), expire_after=7) for names, dimension in TABLES]


def keys_of(rank, t):
    """Returns the keys that a worker reads in update `t`, by group, in a random order."""
    rng, keys = np.random.default_rng([rank, t]), []
    for names, _ in TABLES:
        own = RowKeys.of(rng.permutation(IDS)[: rng.integers(0, 30)])
        own.tables[:] = rng.integers(0, len(names), len(own.ids))
        keys.append(own)
    return keys


def gradients(groups, t):
    """Yields the keys that update `t` changes, equal in all workers, and their gradients."""
    for group, keys in zip(groups, keys_of(99, t)):
        yield keys, np.full((len(keys.ids), group.dimension), t, np.float32)


def update(groups, t, rank=0, size=1):
    for group, (keys, slopes) in zip(groups, gradients(groups, t)):
        own = split_by_owner(keys.ids, size)[rank]
        group.update(keys.take(own), slopes[own], 0.1, t)


def rows_pulled_ahead(group, updates):
    """Returns [rows read before each update]; their pull began before the previous update."""
    shards, found = tables(TableShard), []
    replica = SimpleNamespace(groups=shards)
    worker = SimpleNamespace(replica=replica, group=group, size=group.size, exchanging=nullcontext)
    pull = RowPull(worker, keys_of(group.rank, 0))
    pull.run()
    for t in range(1, updates):
        keys = keys_of(group.rank, t - 1)
        found.append([shard.read(own) for shard, own in zip(shards, keys)])
        ahead = RowPull(worker, keys_of(group.rank, t))
        ahead.start()
        ahead.wait()
        update(shards, t, group.rank, group.size)
        sent = group.sent_bytes
        ahead.refresh()
        found[-1].append(group.sent_bytes - sent)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_rows_that_were_pulled_ahead_are_those_after_the_update(workers):
    updates, whole = 20, tables()  # rows expire at updates 7 and 14
    expected = []
    for t in range(1, updates):
        reads = [keys_of(rank, t - 1) for rank in range(workers)]
        expected.append([[g.read(own) for g, own in zip(whole, keys)] for keys in reads])
        update(whole, t)
    for rank, found in enumerate(crew(workers, rows_pulled_ahead, updates)):
        for rows, by_rank in zip(found, expected, strict=True):
            for one, two in zip(rows[:-1], by_rank[rank], strict=True):
                np.testing.assert_array_equal(one, two)


def nothing_changes(group):
    shards = tables(TableShard)
    replica = SimpleNamespace(groups=shards)
    worker = SimpleNamespace(replica=replica, group=group, size=group.size, exchanging=nullcontext)
    sent = [group.sent_bytes]
    for pull in (RowPull(worker, [RowKeys.of(IDS), RowKeys.of(IDS)]), RowPull(worker, None)):
        pull.start()
        pull.wait()
        sent.append(group.sent_bytes)
        pull.refresh()
        sent.append(group.sent_bytes)
    return np.diff(sent).tolist()


def test_rows_that_did_not_change_travel_once():
    rows = len(IDS) * (10 + 12) + len(IDS) * (10 + 4)  # a worker sends about half of this
    for first, unchanged, _, _ in crew(2, nothing_changes):
        assert 0.3 * rows < first < 0.7 * rows + 500
        assert unchanged < 150


def pull_until_all_are_over(group):
    replica = SimpleNamespace(groups=tables(TableShard))
    worker = SimpleNamespace(replica=replica, group=group, size=group.size, exchanging=nullcontext)
    said = []
    for i in range(3):
        pull = RowPull(worker, None, over=i >= group.rank)
        pull.run()
        said.append(pull.all_over)
    return said


def test_all_learn_that_all_are_over():
    assert crew(3, pull_until_all_are_over) == [[False, False, True]] * 3


def test_changed_rows_are_named_by_their_places():
    old, new = np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32)
    new[1, 1], new[3] = 2, np.nan
    keys, rows = changed(old, new)
    assert keys.ids.tolist() == [1, 3]
    np.testing.assert_array_equal(rows, new[[1, 3]])


def test_rows_change_by_their_bits():
    old = np.array([[0.0, 1], [np.nan, 1], [-0.0, 1]], np.float32)
    new = np.array([[-0.0, 1], [np.nan, 1], [-0.0, 1]], np.float32)
    keys, rows = changed(old, new)
    assert keys.ids.tolist() == [0]
    assert np.signbit(rows[0, 0])
