"""Evaluations on Spark equal those of one process, for RDDs and DataFrames."""

import numpy as np
import pytest
from pyspark.sql import Row

from sparkdl.errors import DataError
from sparkdl.spark import SparkNetwork
from sparkdl.spark.records.records import SparkRecords
from tests.spark.networks import data, plain
from tests.support.bus import stages_of_jobs

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
