"""Preferred hosts of a task, from the locations of the blocks that it reads."""

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from sparkdl.data.readers.core.file_ranges import ByteSplit, RecordRange
from sparkdl.data.source import Split
from sparkdl.spark.records import locality
from sparkdl.spark.records.locality import (
    FEWEST_TASKS,
    OF_ONE_FILE,
    blocks_of,
    preferred_hosts,
    tasks_of,
)

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


def test_few_splits_have_a_task_each():
    splits = [ranged(i, 10) for i in range(FEWEST_TASKS)]
    assert tasks_of(splits) == [[split] for split in splits]
    assert tasks_of([]) == []


def test_many_small_splits_share_tasks_in_order():
    splits = [ranged(i, 10) for i in range(3000)]
    tasks = tasks_of(splits)
    assert [split for task in tasks for split in task] == splits
    assert len(tasks) == 250 and {len(task) for task in tasks} == {12}


@pytest.mark.parametrize("large", [
    lambda i: ranged(i, 2**20),
    lambda i: Split(partition=i, count=256),
    lambda i: Split(partition=i, count=None),
    lambda i: RecordRange(partition=i, count=None, path=f"/{i}", start=0, stop=1),
    lambda i: Own(partition=i, count=1),
])  # fmt: skip
def test_usual_splits_and_those_of_unknown_size_have_a_task_each(large):
    assert {len(task) for task in tasks_of([large(i) for i in range(1000)])} == {1}


def test_a_task_is_no_larger_than_a_usual_split():
    sizes = [2**18, 2**19, 2**18, 2**17, 2**21, 1] * 500
    tasks = tasks_of([ranged(i, size) for i, size in enumerate(sizes)])
    shares = [sum(split.stop for split in task) for task in tasks]
    assert all(share <= 2**20 or len(task) == 1 for share, task in zip(shares, tasks))
    assert [len(task) for task in tasks[:5]] == [3, 1, 1, 3, 2]
    tasks = tasks_of([Split(partition=i, count=100) for i in range(3000)])
    assert {len(task) for task in tasks} == {2}


class Own(Split):
    """A split of a user's source, which may take any time to read."""


def ranged(i, size):
    return ByteSplit(partition=i, count=None, path=f"/{i}", start=0, stop=size)


@pytest.fixture
def asked(monkeypatch):
    """The files that Hadoop's client was asked for; it has failures for some."""
    paths = []

    def ask(sc, path):
        paths.append(path)
        if (failure := FAILURES.get(path)) is not None:
            raise PySparkException(failure)
        return HERE

    monkeypatch.setattr(locality, "ask_block_hosts", ask)
    return paths


HERE = [(0, 10, ["one"])]
FAILURES = {
    "hdfs://down/a": "java.net.ConnectException: refused",
    "hdfs:/a/b": "java.net.UnknownHostException: nobody",
    "webhdfs://slow/a": "An error occurred\n: java.net.SocketTimeoutException: 60000 millis",
    "hdfs://waits/a": "RemoteException(org.apache.hadoop.ipc.StandbyException): not now",
    "hdfs://up/gone": "java.io.FileNotFoundException: File does not exist: /gone",
    "hdfs://up/closed": "AccessControlException: Permission denied: user=me, access=READ",
    "viewfs://all/dead/a": "java.net.ConnectException: refused",
    "hdfs://locked/a": "AccessControlException: Client cannot authenticate via:[TOKEN, KERBEROS]",
    "hdfs://old/a": "org.apache.hadoop.ipc.RpcException: RPC response exceeds its limit",
}
SYSTEMS = {
    "hdfs://down": ["hdfs://down/a", "hdfs://down/b"],
    "hdfs:": ["hdfs:/a/b", "hdfs:/c"],
    "webhdfs://slow": ["webhdfs://slow/a", "webhdfs://slow/b/c"],
    "hdfs://waits": ["hdfs://waits/a", "hdfs://waits/a/b"],
    "hdfs://locked": ["hdfs://locked/a", "hdfs://locked/b"],
    "hdfs://old": ["hdfs://old/a", "hdfs://old/b"],
    "viewfs://all/dead": ["viewfs://all/dead/a", "viewfs://all/dead/b"],
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_file_system_that_nobody_reaches_is_asked_once(asked, system):
    first, second = SYSTEMS[system]
    with pytest.warns(UserWarning, match=f"^{system}: Spark cannot say where its") as warned:
        found, known = look_up(first, second, "hdfs://up/a")
    assert found == [[], [], HERE] and len(warned) == 1
    assert asked == [first, "hdfs://up/a"] and system in known


@pytest.mark.parametrize("path", ["hdfs://up/gone", "hdfs://up/closed"])
def test_a_bad_file_takes_the_places_from_no_other(asked, path):
    other = "/".join(path.split("/")[:3]) + "/b"
    with pytest.warns(UserWarning, match=f"^{path}: Spark cannot say where its") as warned:
        found, _ = look_up(path, path, other)
    assert found == [[], [], HERE] and len(warned) == 1
    assert asked == [path, other]


def look_up(*paths):
    known = {}
    return [blocks_of(None, path, known) for path in paths], known


def test_errors_of_hadoop_are_told_apart(sc):
    names = ["java.net.ConnectException", "java.io.FileNotFoundException"]
    errors = [str(thrown(sc, name)) for name in names]
    assert [OF_ONE_FILE.search(error) is None for error in errors] == [True, False]


def thrown(sc, name):
    """Returns the error that py4j raises for an exception of Java."""
    jvm = sc._jvm
    failed = jvm.java.util.concurrent.CompletableFuture()
    failed.completeExceptionally(getattr(jvm, name)("port 8020"))
    with pytest.raises(Py4JJavaError) as error:
        failed.join()
    return error.value
