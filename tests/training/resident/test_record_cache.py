"""Blocks in files come back as stored, for any pieces and order."""

import os
import tempfile

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import WorkerError
from sparkdl.training.resident.record_cache import RecordCache
from tests.support.disks import may_mount, small_disk


def block(rng, n, start=0, kind="f4"):
    features = (100 * rng.normal(size=(n, 2, 3))).astype(kind)
    return Batch.of(features, rng.integers(0, 9, n), start=start)


def assert_same(one, other):
    assert set(one.columns) == set(other.columns)
    np.testing.assert_array_equal(one.ids, other.ids)
    for name, column in one.columns.items():
        assert column.dtype == other.columns[name].dtype
        np.testing.assert_array_equal(column, other.columns[name])


def cut(batch, *ends):
    return [batch.take(part) for part in np.split(np.arange(len(batch)), ends)]


@pytest.fixture
def shelf():
    with RecordCache() as shelf:
        yield shelf


def fill(shelf, blocks):
    for number, piece in blocks:
        shelf.put(number, piece)


@pytest.mark.parametrize("ends", [(), (4,), (1, 2, 9)], ids=str)
def test_a_block_comes_out_in_the_order_of_its_ids(ends, shelf, rng):
    whole, other = block(rng, 10), block(rng, 5, start=90)
    pieces = cut(whole, *ends)[::-1]
    fill(shelf, [(7, pieces[0]), (3, other), *((7, piece) for piece in pieces[1:])])
    assert list(shelf) == [7, 3]
    kept = shelf.block(7)
    assert len(kept) == 10
    some = [rng.permutation(10), np.array([8, 1]), np.array([], int), slice(2, 6), slice(None)]
    for index in some:
        assert_same(kept.take(index), whole.take(index))
    assert_same(shelf.block(3).take(slice(None)), other)


@pytest.mark.parametrize("kinds", [("u1", "f4"), ("f4", "u1"), ("f4", "f8"), ("i4", "f4")], ids=str)
def test_pieces_of_several_types_become_one_that_holds_all(kinds, shelf, rng):
    pieces = [block(rng, 3, 3 * number, kind) for number, kind in enumerate(kinds)]
    fill(shelf, [(0, piece) for piece in pieces[::-1]])
    assert_same(shelf.block(0).take(slice(None)), Batch.concat(pieces))
    assert_same(shelf.block(0).take(np.array([4, 1])), Batch.concat(pieces).take(np.array([4, 1])))


def test_blocks_may_differ_in_shapes_and_types(shelf, rng):
    mixed = [block(rng, 4, kind="u1"), block(rng, 3), block(rng, 0)]
    mixed.append(Batch.of(rng.normal(size=(3, 7)), None))
    fill(shelf, enumerate(mixed))
    for number, batch in enumerate(mixed):
        assert_same(shelf.block(number).take(slice(None)), batch)


def test_more_may_come_after_the_first_was_read(shelf, rng):
    one, two = block(rng, 4), block(rng, 5, start=50)
    shelf.put(0, one)
    first = shelf.block(0)
    assert_same(first.take(slice(None)), one)
    shelf.put(1, two)
    assert_same(first.take(slice(None)), one)
    assert_same(shelf.block(1).take(slice(None)), two)


def test_a_block_that_has_not_come_is_an_error(shelf, rng):
    shelf.put(0, block(rng, 2))
    with pytest.raises(WorkerError, match=r"block 2 should be here, got only \[0\]"):
        shelf.block(2)


def test_files_have_no_names(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with RecordCache([(0, block(rng, 50))]) as shelf:
        shelf.block(0).take(slice(None))
        assert not os.listdir(tmp_path)
    assert list(shelf) == []


@pytest.mark.skipif(not may_mount(), reason="needs a user who may mount disks")
def test_a_full_disk_is_named(rng, tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    says = rf"^{disk} on \S+: must have room for \d+ bytes of records, got: No space left on device"
    with small_disk(disk, "64k"), RecordCache() as shelf:
        shelf.put(0, block(rng, 50))
        with pytest.raises(WorkerError, match=says):
            shelf.put(0, block(rng, 5000, start=50))
