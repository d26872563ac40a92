"""Expiry of rows and counts that no recent update touched."""

import numpy as np
import pytest

from sparkdl.nn import Adam, Sgd
from sparkdl.nn.tables.row_keys import RowKeys
from sparkdl.nn.tables.table_group import TableGroup


def group(**options):
    return TableGroup(("words",), 2, options.pop("optimizer", Sgd()), **options)


def update(table, ids, t):
    table.update(RowKeys.of(ids), np.ones((len(ids), 2), np.float32), 0.5, t)


def ids_of(table):
    return sorted(table.state()["words/ids"].tolist())


def test_rows_go_that_none_of_the_last_updates_had():
    words = group(expire_after=3)
    for t, ids in enumerate([[1], [2], [3], [4], [3], [5]], start=1):
        update(words, ids, t)
    assert ids_of(words) == [3, 4, 5]  # touched by updates 4, 5 and 6
    update(words, [6], 7)
    update(words, [6], 8)
    assert ids_of(words) == [3, 4, 5, 6]  # until update 9
    update(words, [], 9)
    assert ids_of(words) == [6]


def test_a_forgotten_row_begins_anew_with_its_slots():
    words, fresh = group(expire_after=2, optimizer=Adam()), group(optimizer=Adam())
    for t in (1, 2):
        update(words, [1, 2], t)
    update(words, [2], 3)
    update(words, [2], 4)
    every = RowKeys.of([1])
    np.testing.assert_array_equal(words.read(every), fresh.read(every))
    update(words, [1], 5)
    update(fresh, [1], 5)
    one, two = words.state(), fresh.state()
    place = one["words/ids"].tolist().index(1)
    for name in ("rows", "mean", "square"):
        np.testing.assert_array_equal(
            one[f"words/{name}"].reshape(-1, 2)[place], two[f"words/{name}"]
        )


def test_rows_that_stay_keep_their_bits(rng):
    words, all_ = group(expire_after=4, optimizer=Adam()), group(optimizer=Adam())
    for t in range(1, 13):
        ids = np.unique(np.r_[rng.integers(100, 10**6, 300), np.arange(20)])
        update(words, ids, t)
        update(all_, ids, t)
    stay = RowKeys.of(np.arange(20))
    np.testing.assert_array_equal(words.read(stay), all_.read(stay))
    assert 1200 < len(words) <= 4 * 320 < len(all_)
    assert words.nbytes < all_.nbytes


@pytest.mark.parametrize("before", [2**31, 2**32], ids=["2^31", "2^32"])
def test_rows_and_counts_go_after_billions_of_updates_too(before):
    start = before - before % 3 - 3  # a multiple of both numbers of updates
    words, early = (group(min_updates=2, expire_after=3) for _ in range(2))
    for t, ids in enumerate([[1], [1, 2], [3], [3], [1], [2, 4], [2], [4], [3]], start=1):
        update(words, ids, start + t)
        update(early, ids, t)
        assert ids_of(words) == ids_of(early)
        assert sorted(words.state()["words/seen/ids"]) == sorted(early.state()["words/seen/ids"])


def test_counts_expire_and_a_row_that_expired_is_counted_anew():
    words = group(min_updates=2, expire_after=2)
    update(words, [1], 1)
    update(words, [], 2)
    update(words, [], 3)
    update(words, [], 4)
    update(words, [1], 5)
    assert ids_of(words) == []  # the count of update 1 has expired
    update(words, [1], 6)
    assert ids_of(words) == [1]
    update(words, [2], 7)
    update(words, [2], 8)
    assert ids_of(words) == [2]
    update(words, [1], 9)
    assert ids_of(words) == [2]


def test_the_count_of_a_row_that_stays_expires():
    words = group(min_updates=2, expire_after=2)
    for t in range(1, 7):
        update(words, [1], t)
    assert ids_of(words) == [1] and not len(words.state()["words/seen/ids"])


@pytest.mark.parametrize("options", [{}, {"min_updates": 2}], ids=["rows", "rows and counts"])
def test_state_and_load_keep_the_last_updates(options):
    one, two = (group(expire_after=3, **options) for _ in range(2))
    for t in (1, 2):
        update(one, [1, 2], t)
    two.load(one.state())
    for words in (one, two):
        update(words, [2], 3)
        update(words, [2], 4)
        update(words, [3], 6)
    assert ids_of(one) == ids_of(two)
    assert all((two.state()[name] == array).all() for name, array in one.state().items())
