"""Folders of records on an executor, which tasks of a cancelled job may still write."""

from types import SimpleNamespace

import pytest

from sparkdl.spark.records import stored_partition
from sparkdl.spark.records.stored_partition import (
    list_folders,
    partition_folder,
    remove_folders,
    remove_for_good,
    store_batches,
)
from sparkdl.training.inputs.schema import schema_of
from tests.spark.networks import arrays, plain

KEY = "a-key"
SCHEMA = schema_of(plain())


@pytest.fixture
def disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    task = SimpleNamespace(taskAttemptId=lambda: 7)
    monkeypatch.setattr(stored_partition, "TaskContext", SimpleNamespace(get=lambda: task))
    return tmp_path


def store(batches):
    return next(store_batches(KEY, SCHEMA, 2, batches))


def batches():
    source = arrays(20)
    for split in source.splits():
        yield from source.read(split)


def folders(disk):
    return [path for path in disk.rglob("*") if path.is_dir()]


def test_folders_are_listed_until_they_are_removed(disk):
    stored = store(batches())
    assert (stored.count, stored.error) == (20, None)
    assert [*list_folders([KEY])] == [stored.folder] == [partition_folder(KEY, 2, 7)]
    remove_folders([KEY])
    assert [*list_folders([KEY])] == folders(disk) == []
    assert store(batches()).error is None  # as records that are lost are read again


@pytest.mark.parametrize("removals", [1, 2])
@pytest.mark.parametrize("begun", ["before", "after"])
def test_a_task_that_writes_during_the_removal_for_good_leaves_nothing(begun, removals, disk):
    def remove():
        for _ in range(removals):
            remove_for_good([KEY])

    def removed_meanwhile():
        remove()
        yield from batches()

    if begun == "after":
        remove()
    written = store(removed_meanwhile() if begun == "before" else batches())
    assert KEY in written.error
    assert folders(disk) == [*list_folders([KEY])] == []


def test_nothing_else_is_removed(disk):
    other = store(batches()).folder
    remove_for_good(["another key"])
    assert [*list_folders([KEY, "another key"])] == [other]
