"""Positions of ids, against a dict."""

import numpy as np
import pytest

from sparkdl.engine.native import hash_tables
from sparkdl.errors import UnsupportedError
from sparkdl.nn.tables.id_index import FIRST, IdIndex, hash_keys
from sparkdl.nn.tables.row_keys import RowKeys, join_keys, number_keys, sum_rows


def compiler_is_missing():
    raise UnsupportedError("no compiler")


@pytest.fixture(params=["compiled", "numpy"])
def by(request, monkeypatch):
    """Runs a test with the compiled and the numpy implementation."""
    if request.param == "numpy":
        monkeypatch.setattr(hash_tables, "compiler", compiler_is_missing)
    return request.param


def random_keys(rng, size, below, tables=3):
    keys = RowKeys(
        rng.integers(0, tables, size).astype(np.int16), rng.integers(0, below, size).astype(int)
    )
    return keys


def pairs(keys):
    return [*zip(keys.tables.tolist(), keys.ids.tolist())]


@pytest.mark.parametrize("tables", [1, 3])
def test_it_finds_what_a_dict_finds(tables, rng, by):
    index, known, places = IdIndex(tables), RowKeys.of([]), {}
    for size, below in ((1, 5), (600, 2000), (5 * FIRST, 2**62), (100, 2**63 - 1)):
        keys, _ = number_keys(random_keys(rng, size, below, tables))
        new = keys.take(np.flatnonzero(index.find(keys, known) < 0))
        places |= {pair: len(known.ids) + i for i, pair in enumerate(pairs(new))}
        known = join_keys([known, new])
        index.add(known, len(known.ids))
        shuffled = known.take(rng.permutation(len(known.ids)))
        asked = join_keys([shuffled, random_keys(rng, 50, below, tables)])
        expected = [places.get(pair, -1) for pair in pairs(asked)]
        np.testing.assert_array_equal(index.find(asked, known), expected)
    assert index.nbytes <= 8 * len(known.ids)


SIZES = 0, 1, 2, 500, 3000


@pytest.mark.parametrize("size", SIZES)
def test_keys_are_numbered_as_they_appear(size, rng, by):
    keys, seen = random_keys(rng, size, 40, tables=7), {}
    keys.ids[rng.random(size) < 0.1] = -1
    once, numbers = number_keys(keys)
    expected = [-1 if key[1] < 0 else seen.setdefault(key, len(seen)) for key in pairs(keys)]
    assert numbers.tolist() == expected and pairs(once) == [*seen]


@pytest.mark.parametrize("width", [1, 3, 16, 17, 40])
@pytest.mark.parametrize("size", SIZES)
def test_rows_are_summed_by_number_in_their_order(size, width, rng, by):
    numbers, rows = rng.integers(-1, 9, size), rng.normal(size=(size, width)).astype(np.float32)
    expected = np.zeros((9, width), np.float32)
    for number, row in zip(numbers, rows):
        if number >= 0:
            expected[number] += row
    for parts in [rows], np.split(rows, [0, size // 3, size // 2]):
        np.testing.assert_array_equal(sum_rows(parts, numbers, 9), expected)


def test_growth_in_both_ways_gives_places_that_the_other_finds(rng, monkeypatch):
    keys, _ = number_keys(random_keys(rng, 4000, 2**40))
    compiled = IdIndex(3)
    compiled.add(keys, len(keys.ids))
    monkeypatch.setattr(hash_tables, "compiler", compiler_is_missing)
    np.testing.assert_array_equal(compiled.find(keys, keys), np.arange(len(keys.ids)))
    by_numpy = IdIndex(3)
    by_numpy.add(keys, len(keys.ids))
    monkeypatch.undo()
    np.testing.assert_array_equal(by_numpy.find(keys, keys), np.arange(len(keys.ids)))


def test_the_hash_is_that_of_splitmix64():
    # The first outputs of SplittableRandom(0), as published: state 0, then 2 steps.
    step = np.int64(np.uint64(hash_tables.GOLDEN).view(np.int64))
    expected = ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]
    assert [hex(x) for x in hash_keys(RowKeys.of([0, step]))] == expected
    two = RowKeys(np.array([0, 1], np.int16), np.zeros(2, np.int64))
    assert [hex(x) for x in hash_keys(two)] == expected  # the next table starts one step later
