"""Rows admitted at their n-th update, against an unfiltered table and a count."""

import numpy as np
import pytest

from sparkdl.errors import ShapeError
from sparkdl.nn import Adam, Sgd
from sparkdl.nn.tables.row_filter import RowFilter
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_group import TableGroup

NAMES = ("words", "users")


def group(min_updates=1, optimizer=None, **options):
    return TableGroup(NAMES, 3, optimizer or Sgd(), min_updates=min_updates, **options)


def keys(*ids, table=0):
    return RowKeys.of(ids, table)


def ones(n):
    return np.ones((n, 3), np.float32)


def update(table, ids, t, slopes=None):
    table.update(keys(*ids), ones(len(ids)) if slopes is None else slopes, 0.5, t)


def test_a_row_moves_with_its_third_update():
    words, first = group(3), group().read(keys(7))
    for t in (1, 2):
        update(words, [7], t)
        assert len(words) == 0
        np.testing.assert_array_equal(words.read(keys(7)), first)
    update(words, [7, 8], 3)
    assert len(words) == 1
    np.testing.assert_allclose(words.read(keys(7)), first - 0.5, rtol=1e-6)
    np.testing.assert_array_equal(words.read(keys(8)), group().read(keys(8)))


def test_kept_rows_have_the_bits_that_their_later_updates_give_alone(rng):
    minimum, words, alone, times = 3, group(3, Adam()), group(1, Adam()), np.zeros(20, int)
    for t in range(1, 15):
        ids = np.flatnonzero(rng.random(20) < 0.3)
        slopes = rng.normal(size=(len(ids), 3)).astype(np.float32)
        update(words, ids, t, slopes)
        times[ids] += 1
        kept = times[ids] >= minimum
        update(alone, ids[kept], t, slopes[kept])
    assert 0 < len(words) == len(alone) < 20
    np.testing.assert_array_equal(words.read(keys(*range(20))), alone.read(keys(*range(20))))


def test_updates_are_counted_by_table():
    both = group(2)
    update(both, [5], 1)
    both.update(keys(5, table=1), ones(1), 0.5, 2)
    assert len(both) == 0
    both.update(keys(5, table=1), ones(1), 0.5, 3)
    assert both.state()["users/ids"].tolist() == [5] and not len(both.state()["words/ids"])


def test_counts_go_with_state_and_load():
    one, two = group(2), group(2)
    update(one, [5, 6], 1)
    two.load(one.state())
    for words in (one, two):
        update(words, [6, 7], 2)
    assert len(two) == 1
    assert all((two.state()[name] == array).all() for name, array in one.state().items())
    two.load({})
    update(two, [7], 3)
    assert len(two) == 0


def test_counts_of_other_types_are_refused():
    words = group(2)
    update(words, [5], 1)
    broken = words.state() | {"words/seen/count": np.zeros(1, np.int64)}
    with pytest.raises(ShapeError, match=r"needs count of int32 \(1,\), got int64 \(1,\)"):
        words.load(broken)


def test_a_counted_id_takes_24_bytes_whatever_the_dimension():
    seen = RowFilter(NAMES, 2, expires=True)
    for start in range(0, 200_000, 10_000):
        seen.admit(RowKeys.of(np.arange(start, start + 10_000)), 1)
    assert 24 <= seen.store.nbytes / 200_000 < 1.1 * 24
    assert group(2).nbytes > group(1).nbytes


def test_a_filter_lets_rare_ids_take_no_rows(rng):
    words, every = group(4), group(1)
    for t in range(1, 50):
        ids = np.unique(rng.zipf(1.3, 200).clip(max=10**9))
        update(words, ids, t)
        update(every, ids, t)
    assert len(words) < len(every) / 5
