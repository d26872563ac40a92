"""Preferred hosts of a task, from the locations of the blocks that it reads."""

import pytest
from pyspark.errors import PySparkException

from sparkdl.spark.records import locality
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


def test_a_file_system_that_fails_is_asked_once(monkeypatch):
    asked = []

    def ask(sc, path):
        asked.append(path)
        if path.startswith("hdfs://down"):
            raise PySparkException("no NameNode answers")
        return [(0, 10, ["one"])]

    monkeypatch.setattr(locality, "ask_block_hosts", ask)
    known = {}
    with pytest.warns(UserWarning, match="hdfs://down/a: Spark cannot say .* no NameNode") as told:
        found = [blocks_of(None, f"hdfs://{path}", known) for path in ("down/a", "up/b", "down/c")]
    assert found == [[], [(0, 10, ["one"])], []]
    assert asked == ["hdfs://down/a", "hdfs://up/b"] and len(told) == 1
