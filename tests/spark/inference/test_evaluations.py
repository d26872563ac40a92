"""Evaluations on Spark equal those of one process, for RDDs and DataFrames."""

import numpy as np
import pytest
from pyspark.sql import Row

from sparkdl.data import Arrays
from sparkdl.errors import ConfigError, DataError
from sparkdl.evaluations import Regression
from sparkdl.spark import SparkNetwork
from sparkdl.spark.records.records import SparkRecords
from tests.spark.networks import data, plain
from tests.support.bus import stages_of_jobs
from tests.training.problems import branches

PARTS = [4, 0, 7, 1]


@pytest.fixture
def net(sc):
    return SparkNetwork(sc, plain())


def pairs_of(sc, labels=None):
    """Returns (RDD of pairs in uneven partitions, one of them empty; features; labels)."""
    x, y = data(sum(PARTS))
    y = y if labels is None else labels
    bounds = np.cumsum([0, *PARTS])
    pairs = [*zip(x.tolist(), y.tolist(), strict=True)]
    parts = [pairs[start : start + size] for start, size in zip(bounds, PARTS, strict=False)]
    return sc.parallelize(parts, len(parts)).flatMap(lambda part: part), x, y


def frame_of(spark, rdd):
    return spark.createDataFrame(rdd, "features array<float>, label int")


def test_a_dataframe_is_evaluated_where_it_is_read(net, spark, sc, monkeypatch):
    """Its records become no RDD of Batches, which Spark would copy between Python processes."""
    rdd, x, y = pairs_of(sc)
    wanted, of_rdd = net.network.evaluate((x, y)), net.evaluate(rdd)

    def refuse(*_):
        raise AssertionError("an RDD of Batches was asked for")

    monkeypatch.setattr(SparkRecords, "batches", refuse)
    found = net.evaluate(frame_of(spark, rdd))
    assert found.examples == wanted.examples == len(x)
    assert found.loss == of_rdd.loss == pytest.approx(wanted.loss)
    np.testing.assert_array_equal(found.confusion, wanted.confusion)
    assert [one.number for one in found.wrong] == [one.number for one in of_rdd.wrong]


def test_columns_that_no_name_finds_are_evaluated(net, spark, sc):
    rdd, x, y = pairs_of(sc)
    frame = frame_of(spark, rdd).toDF("a.b", "the `label`")
    found = net.evaluate(frame, features="a.b", label="the `label`")
    assert found.loss == pytest.approx(net.network.evaluate((x, y)).loss)


def test_the_first_bad_record_is_named(net, spark, sc):
    rdd, _, _ = pairs_of(sc, labels=np.array([0] * 9 + [7] + [0] * 2))
    with pytest.raises(DataError, match=r"partition 2, record 5: label must be .*got 7"):
        net.evaluate(frame_of(spark, rdd))


KINDS = ("left", "right"), ("kind", "size")  # columns of features and of labels
OUTPUTS = {  # figures to compare and metrics, by output
    None: (("loss", "accuracy", "auc", "size/loss", "size/mae"), ["size"]),
    "kind": (("loss", "accuracy", "auc"), None),
    "size": (("loss", "mse", "mae", "r2", "own/mae"), {"own": Regression}),
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_each_of_several_outputs_is_evaluated_as_in_one_process(output, spark, sc):
    (names, own), rng = OUTPUTS[output], np.random.default_rng(0)
    n, net = sum(PARTS), SparkNetwork(sc, branches())
    columns = {
        "left": rng.normal(size=(n, 2)).astype(np.float32),
        "right": rng.normal(size=(n, 3)).astype(np.float32),
        "kind": rng.integers(0, 2, n),
        "size": rng.normal(size=n).astype(np.float32),
    }
    rows = [Row(**{name: x[i].tolist() for name, x in columns.items()}) for i in range(n)]
    rdd = sc.parallelize(rows, 4)
    inputs, labels = ({name: columns[name] for name in kind} for kind in KINDS)
    wanted = net.network.evaluate(Arrays(inputs, labels), output=output, metrics=own).figures()
    assert set(names) <= set(wanted)
    for records in rdd, spark.createDataFrame(rdd):
        found = net.evaluate(records, output=output, metrics=own)
        assert found.examples == n
        assert found.figures() == pytest.approx(wanted, rel=1e-6)
    assert net.score(rdd, output=output) == pytest.approx(wanted["loss"], rel=1e-6)


def test_an_unknown_output_is_refused_before_any_job(spark, sc):
    with pytest.raises(ConfigError, match=r"output must be one of \['kind', 'size'\] or None, got"):
        SparkNetwork(sc, branches()).evaluate(sc.parallelize([]), output="knd")


def test_no_records_are_said_to_be_none(net, spark):
    frame = spark.createDataFrame([], "features array<float>, label int")
    with pytest.raises(DataError, match="no records to evaluate on"):
        net.evaluate(frame)


def test_a_few_partitions_need_no_shuffle(net, spark, sc):
    frame = frame_of(spark, pairs_of(sc)[0])
    assert stages_of_jobs(sc, lambda: net.evaluate(frame)) == [1]


def test_many_partitions_are_added_by_executors(net, spark, sc):
    x, y = data(60)
    rows = [Row(features=a, label=b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    frame = spark.createDataFrame(sc.parallelize(rows, 30))
    assert net.evaluate(frame).loss == pytest.approx(net.network.evaluate((x, y)).loss)
