"""Stored shares of workers: the same blocks as the dealing, read from folders of partitions."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.batches.dealing import Dealing, assemble_block
from sparkdl.data.record_store import write_records
from sparkdl.data.stored_share import StoredShare
from sparkdl.errors import DataError, LostRecords

COUNTS = {
    "even": (40, 40, 40),
    "uneven": (3, 70, 1),
    "one is empty": (30, 0, 12),
    "one record": (1,),
    "one partition": (50,),
}


def batches(partition, count, size=9):
    """Returns the records of a partition, in batches as from a reader."""
    rng = np.random.default_rng(partition)
    x = rng.normal(size=(count, 4)).astype("f4")
    return [
        Batch.of(
            x[start : start + size],
            np.arange(len(x))[start : start + size],
            start=start,
            partition=partition,
        )
        for start in range(0, count, size)
    ]


def store(folder, counts):
    """Writes a folder for each partition with records; returns {partition: folder}."""
    folders = {}
    for partition, count in enumerate(counts):
        if count:
            folders[partition] = str(folder / str(partition))
            write_records(folders[partition], batches(partition, count))
    return folders


@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("name", COUNTS)
def test_shares_are_the_blocks_of_the_dealing(name, scatter, tmp_path):
    counts = COUNTS[name]
    dealing = Dealing(counts=counts, size=7, scatter=scatter, window=21, seed=5)
    pieces = [[] for _ in dealing.sizes]
    for partition, count in enumerate(counts):
        for number, piece in dealing.pieces(partition, batches(partition, count)):
            pieces[number].append(piece)
    expected = [assemble_block(piece) for piece in pieces]
    folders = store(tmp_path, counts)
    found = {}
    for rank in range(3):
        numbers = frozenset(range(rank, len(expected), 3))
        own = list(StoredShare(dealing=dealing, folders=folders, numbers=numbers).blocks())
        assert len(own) == len(numbers) and set(dict(own)) == numbers
        found |= dict(own)
    assert len(found) == len(expected)
    for number, block in enumerate(expected):
        same = assemble_block([found[number]])
        np.testing.assert_array_equal(same.ids, block.ids)
        np.testing.assert_array_equal(same.features, block.features)
        np.testing.assert_array_equal(same.labels, block.labels)


@pytest.mark.parametrize("scatter", [False, True])
def test_a_folder_that_is_not_there_is_named(scatter, tmp_path):
    dealing = Dealing(counts=(10,), size=7, scatter=scatter, window=7, seed=5)
    share = StoredShare(dealing=dealing, folders={0: str(tmp_path / "0")}, numbers=frozenset({0}))
    with pytest.raises(LostRecords, match="/0: must hold records, .* has no such folder"):
        list(share.blocks())


def test_folders_with_other_records_than_were_counted_are_refused(tmp_path):
    folders = store(tmp_path, (10,))
    dealing = Dealing(counts=(11,), size=7, scatter=False, window=7, seed=5)
    with pytest.raises(DataError, match="11 records were counted, then there were 10"):
        list(StoredShare(dealing=dealing, folders=folders, numbers=frozenset({0})).blocks())
