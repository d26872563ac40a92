"""Preferred hosts of a task, from the locations of the blocks that it reads."""

import pytest

from sparkdl.spark.records.locality import blocks_of, preferred_hosts

BLOCKS = {
    "a": [(0, 100, ["one", "two"]), (100, 200, ["two", "three"]), (200, 210, ["four"])],
    "b": [(0, 100, ["one"])],
    "empty": [],
}
CASES = [
    # what is read, hosts with at least half of it
    ([("a", 0, 100)], ["one", "two"]),
    ([("a", 50, 150)], ["two", "one", "three"]),
    ([("a", 0, 120)], ["two", "one"]),
    ([("a", 0, None)], ["two"]),
    ([("a", 200, None)], ["four"]),
    ([("a", 0, 100), ("b", 0, 100)], ["one", "two"]),
    ([("empty", 0, None)], []),
    ([("a", 210, 210)], []),
    ([], []),
]


@pytest.mark.parametrize("spans, hosts", CASES)
def test_who_has_most_of_it(spans, hosts):
    assert preferred_hosts(spans, BLOCKS.get) == hosts


@pytest.mark.parametrize("path", ["/a", "file:///a", "memory://a", "s3a://bucket/a"])
def test_only_hdfs_is_asked(path):
    assert blocks_of(None, path, {}) == []
