"""Tasks prefer the hosts that hold their data, as tasks of Spark's own readers do."""

import numpy as np
import pytest

from sparkdl.data import LMDB, Arrays, Batch, Csv, Parquet, write_lmdb_anywhere, write_parquet
from sparkdl.data.readers.tfrecords import RecordFile
from sparkdl.nn import Output
from sparkdl.spark import SparkNetwork
from sparkdl.spark.inference.split_frame import compute_frame
from sparkdl.spark.records.locality import split_rdd
from tests.cluster.settings import HOST
from tests.data.sources import KINDS, records
from tests.spark.networks import conf_of
from tests.support.bus import told_all

X, Y = records(60)


def places(sc, rdd):
    """Returns the preferred hosts of each partition."""
    found = []
    for i in range(rdd.getNumPartitions()):
        hosts = sc._jsc.sc().getPreferredLocs(rdd._jrdd.rdd(), i)
        found.append([hosts.apply(j).host() for j in range(hosts.size())])
    return found


def csv_on(hdfs):
    """Writes a file with one replica and small blocks, so that both nodes hold some."""
    path = "/located.csv"
    hdfs.write(path, KINDS["Csv"].encode(X, Y), blocksize=4096, replication=1)
    return f"{hdfs.uri}{path}"


def test_they_are_those_of_sparks_own_readers(sc, as_user):
    path = csv_on(as_user)
    splits = Csv(path, bytes_per_split=4096).splits()
    rdd = split_rdd(sc, splits)
    assert places(sc, rdd) == places(sc, sc.textFile(path, 2))[:1] * len(splits) == [[HOST]] * 4
    assert rdd.collect() == splits
    assert places(sc, rdd.mapPartitions(list).map(str)) == [[HOST]] * 4


def test_so_do_those_that_compute_a_data_frame(spark, as_user):
    splits = Csv(csv_on(as_user), bytes_per_split=4096).splits()
    found = compute_frame(spark, splits, "name", ["one"], one_number, "cpu")
    assert found.rdd.getNumPartitions() == len(splits)
    assert places(spark.sparkContext, found.rdd) == [[HOST]] * 4
    assert [(row.name, row.one) for row in found.collect()] == [(str(one), [1.0]) for one in splits]


def one_number(split):
    yield [str(split)], {"one": np.ones((1, 1), np.float32)}


def test_row_groups_know_where_they_lie(sc, as_user):
    write_parquet(f"{as_user.uri}/located", [Batch.of(X, Y)])
    [split] = Parquet(f"{as_user.uri}/located").splits()
    [(_, start, stop)] = split.spans()
    assert (start, stop) == (0, len(as_user.read("/located/part-00000.parquet")))
    assert places(sc, split_rdd(sc, [split])) == [[HOST]]


def test_what_lies_nowhere_nearer_runs_anywhere(sc, as_user, tmp_path):
    write_lmdb_anywhere(f"{as_user.uri}/located-lmdb", [Batch.of(X, Y)])
    (tmp_path / "a.csv").write_bytes(KINDS["Csv"].encode(X, Y))
    for source in (LMDB(f"{as_user.uri}/located-lmdb"), Csv(str(tmp_path)), Arrays(X, Y)):
        assert places(sc, split_rdd(sc, source.splits())) == [[]] * len(source.splits())


@pytest.mark.parametrize("system", ["hdfs://127.0.0.1:1", "webhdfs://"])
def test_a_file_system_that_spark_cannot_ask_is_named(sc, system):
    split = RecordFile(partition=0, count=None, path=f"{system}/a", size=1)
    with pytest.warns(UserWarning, match=f"^{system}: Spark cannot say where its block"):
        assert places(sc, split_rdd(sc, [split])) == [[]]


def test_tasks_run_there(sc, as_user):
    """Checked by Spark's record of the tasks, if executors are known by that address."""
    status = sc._jsc.sc().getExecutorMemoryStatus().keys().toSeq()
    hosts = {status.apply(i).partition(":")[0] for i in range(status.size())}
    if HOST not in hosts:
        pytest.skip(f"executors are known as {sorted(hosts)}; with SPARK_LOCAL_IP={HOST} they fit")
    splits = Csv(csv_on(as_user), bytes_per_split=4096).splits()
    sc.setJobGroup("located", "tasks with places")
    try:
        assert split_rdd(sc, splits).count() == len(splits)
    finally:
        sc.setLocalProperty("spark.jobGroup.id", None)
    assert levels(sc, "located") == ["NODE_LOCAL"] * len(splits)


def levels(sc, group):
    """Returns the locality level of each task of a job group."""
    context, tracker = told_all(sc)._jsc.sc(), sc.statusTracker()
    [job] = tracker.getJobIdsForGroup(group)
    [stage] = tracker.getJobInfo(job).stageIds
    tasks = context.statusStore().taskList(stage, 0, 100)
    return [tasks.apply(i).taskLocality() for i in range(tasks.size())]


def test_training_reads_there(spark, as_user):
    source = Csv(csv_on(as_user), bytes_per_split=4096)
    net = SparkNetwork(spark, conf_of([Output(units=10)], input_shape=(60,)))
    assert net.fit(source, epochs=1).epochs[0].examples == len(X)
