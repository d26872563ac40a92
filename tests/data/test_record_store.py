"""Records stored in a folder: read back unchanged, and damage is reported."""

import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.record_store import (
    INDEX,
    RECORDS,
    is_complete,
    read_records,
    write_records,
    write_sorted_records,
)
from sparkdl.errors import DataError, UnsupportedError

TYPES = ["u1", "i1", "?", "f2", "f4", "f8", "i8", "u8", ">i4"]


def batch_of(rng, n, kind="f4", shape=(2, 3), start=0):
    return Batch.of((100 * rng.normal(size=(n, *shape))).astype(kind), np.arange(n), start=start)


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one.ids, other.ids)
        assert list(one.columns) == list(other.columns)
        for name, column in other.columns.items():
            assert (one.columns[name].dtype, one.columns[name].shape) == (
                column.dtype,
                column.shape,
            )
            np.testing.assert_array_equal(one.columns[name], column)


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "disk" / "0.7"


@pytest.mark.parametrize("kind", TYPES)
def test_arrays_come_out_as_they_were(kind, folder, rng):
    batches = [batch_of(rng, n, kind, start=start) for n, start in ((5, 0), (1, 5), (8, 6))]
    count, nbytes = write_records(folder, iter(batches))
    assert (count, nbytes) == (14, sum(batch.nbytes for batch in batches))
    assert_same(list(read_records(folder)), batches)


def test_batches_may_differ_in_shapes_types_and_columns(folder, rng):
    ragged = [batch_of(rng, 4, shape=(length, 2)) for length in (7, 1, 0, 3)]
    batches = [*ragged, batch_of(rng, 2, "u1", ()), Batch.of(np.ones((3, 1)))]
    write_records(folder, batches)
    assert_same(list(read_records(folder)), batches)


@pytest.mark.parametrize("sizes", [(), (0,), (0, 3, 0)], ids=str)
def test_there_may_be_no_records(sizes, folder, rng):
    batches = [batch_of(rng, n) for n in sizes]
    assert write_records(folder, batches)[0] == sum(sizes)
    assert_same(list(read_records(folder)), batches)


def test_arrays_that_are_not_contiguous(folder, rng):
    whole = batch_of(rng, 20)
    batches = [
        whole.take(slice(None, None, 3)),
        whole.replace(features=whole.features.T.T[:, ::-1]),
    ]
    write_records(folder, batches)
    assert_same(list(read_records(folder)), batches)


def test_nobody_else_can_read_or_exchange_them(folder, rng):
    before = os.umask(0)
    try:
        write_records(folder, [batch_of(rng, 3)])
    finally:
        os.umask(before)
    made = [folder.parent, folder, folder / RECORDS, folder / INDEX]
    assert [stat.S_IMODE(one.stat().st_mode) for one in made] == [0o700, 0o700, 0o600, 0o600]


def test_a_folder_that_others_can_write_to_is_refused(folder, rng):
    folder.parent.mkdir()
    folder.parent.chmod(0o777)
    with pytest.raises(UnsupportedError, match="disk must be a folder .* mode 777; chmod 700 it"):
        write_records(folder, [batch_of(rng, 3)])
    assert not list(folder.parent.iterdir())


def test_records_are_read_in_place(folder, rng):
    write_records(folder, [batch_of(rng, 4)])
    (batch,) = read_records(folder)
    with pytest.raises(ValueError, match="read-only"):
        batch.features[0] = 0
    assert not batch.features.flags.owndata


def test_sorted_records_are_the_same_however_they_come(folder, rng):
    whole = batch_of(rng, 30)
    ends = []
    for number in range(3):
        rows = rng.permutation(30)
        batches = [whole.take(rows[at : at + 8]) for at in range(0, 30, 8)]
        ids = np.split(whole.ids, [8, 16, 24])
        came = [Batch(columns=b.columns, ids=i) for b, i in zip(batches, ids, strict=True)]
        path = folder.with_name(str(number))
        assert write_sorted_records(path, iter(came)) == (30, whole.nbytes)
        ends.append(list(read_records(path)))
    assert_same(ends[1], ends[0])
    assert_same(ends[2], ends[0])
    labels = np.concatenate([batch.labels for batch in ends[0]])
    assert sorted(labels) == [*range(30)]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["0", "1", "2"]


def test_there_may_be_no_records_to_sort(folder):
    assert write_sorted_records(folder, []) == (0, 0)
    assert list(read_records(folder)) == []


@pytest.mark.parametrize("write", [write_records, write_sorted_records])
def test_an_error_on_the_way_leaves_nothing_behind(write, folder, rng):
    def batches():
        yield batch_of(rng, 4)
        raise DataError("record 4: is no record")

    with pytest.raises(DataError, match="record 4"):
        write(folder, batches())
    assert not list(folder.parent.iterdir())


FULL = """
import resource, sys
import numpy as np
from sparkdl.data import Batch
from sparkdl.data.record_store import write_records
from sparkdl.errors import DataError
batch = Batch.of(np.ones((1000, 50), np.float32))
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
try:
    write_records(sys.argv[1], [batch] * 4)
except DataError as error:
    print(error)
"""


def test_a_folder_that_takes_no_more_is_named_with_the_bytes(folder):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(folder)], capture_output=True, text=True, check=True
    )
    # Two batches of 208,000 bytes fit; the features of the third do not.
    assert done.stdout.startswith(
        f"{folder.parent}: must have room for 616000 bytes of records, got: File"
    )
    assert not list(folder.parent.iterdir())


@pytest.mark.parametrize(
    "place, reason", [("file", "File exists"), ("file/disk", "Not a directory")]
)
def test_a_folder_that_cannot_be_made_is_named(place, reason, tmp_path, rng):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(
        DataError, match=f"{place}: must have room for 0 bytes of records, got: {reason}"
    ):
        write_records(tmp_path / place / "0.7", [batch_of(rng, 4)])


def cut(folder):
    path = folder / RECORDS
    path.write_bytes(path.read_bytes()[:-1])


def garble(folder):
    (folder / INDEX).write_text("{")


def lend(name):
    return lambda folder: (folder / name).chmod(0o666)


def link(folder):
    (folder / RECORDS).rename(folder / "elsewhere")
    (folder / RECORDS).symlink_to(folder / "elsewhere")


DAMAGE = {
    "a file cut short": (cut, f"{RECORDS}: must have [0-9]+ bytes, got [0-9]+"),
    "no file": (lambda folder: (folder / RECORDS).unlink(), "must be a file of records, got: .*No"),
    "no index": (lambda folder: (folder / INDEX).unlink(), "must have an index of records, got"),
    "another index": (garble, "must have an index of records, got"),
    "others' index": (lend(INDEX), "must have an index of records, got: .* this user alone can"),
    "others' records": (lend(RECORDS), "must be a file of records, got: .* this user alone can"),
    "a link": (link, "must be a file of records, got: .*symbolic links"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named(case, folder, rng):
    damage, message = DAMAGE[case]
    write_records(folder, [batch_of(rng, 4)])
    assert is_complete(folder)
    damage(folder)
    assert not is_complete(folder)
    with pytest.raises(DataError, match=message):
        list(read_records(folder))


@pytest.mark.parametrize("name", [INDEX, RECORDS])
def test_files_of_another_user_are_not_believed(name, folder, rng, monkeypatch):
    write_records(folder, [batch_of(rng, 4)])
    own, fstat = (folder / name).stat().st_ino, os.fstat

    def of_another(descriptor):
        status = fstat(descriptor)
        other = [*status[:4], status.st_uid + 1, *status[5:]]
        return os.stat_result(other) if status.st_ino == own else status

    monkeypatch.setattr(os, "fstat", of_another)
    with pytest.raises(DataError, match=f"{name} must be a regular file that this user alone"):
        list(read_records(folder))


def test_the_index_is_small(folder, rng):
    write_records(folder, [batch_of(rng, 1000)])
    assert len(json.dumps(json.loads((folder / INDEX).read_text()))) < 300
