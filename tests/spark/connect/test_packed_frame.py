"""Records packed for a fit over Spark Connect; a classic session packs them in the same way."""

from contextlib import nullcontext

import pytest

from sparkdl.errors import NoRecords
from sparkdl.spark.connect.packed_frame import MERGES, PackedFrame
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.inputs.schema import schema_of
from tests.ml.frames import classes_conf
from tests.support.bus import stages_of_jobs

ROWS_OF_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def small_batches(spark):
    spark.conf.set(ROWS_OF_A_BATCH, "7")
    yield
    spark.conf.unset(ROWS_OF_A_BATCH)


@pytest.fixture
def packed(spark, path, small_batches):
    found = PackedFrame(SparkRecords(spark.read.parquet(path)), schema_of(classes_conf()))
    yield found
    found.close()


def test_records_of_all_batches_are_counted(spark, path, packed):
    expected = spark.read.parquet(path).select("id").rdd.glom().map(len).collect()
    counts, nbytes = packed.measure()
    assert counts == expected and max(counts) > 7
    assert nbytes >= 60 * 4 * 4


def test_partitions_of_a_shuffle_are_merged_as_in_a_classic_fit(spark, path):
    shuffled = spark.read.parquet(path).dropDuplicates(["id"])
    before = spark.conf.get(MERGES, None)
    packed = PackedFrame(SparkRecords(shuffled), schema_of(classes_conf()))
    counts, _ = packed.measure()
    packed.close()
    assert counts == shuffled.rdd.glom().map(len).collect()
    assert spark.conf.get(MERGES, None) == before


def test_some_record_needs_a_weight_above_0(spark, path):
    weighed = spark.read.parquet(path).selectExpr("*", "0D as none", "id % 50 as few")
    for name, says in {"few": None, "none": "train on: the weight of each is 0"}.items():
        packed = PackedFrame(SparkRecords(weighed, weights=name), schema_of(classes_conf()))
        with pytest.raises(NoRecords, match=says) if says else nullcontext():
            packed.measure()
        packed.close()


def test_they_are_counted_by_one_job_without_a_shuffle(sc, packed):
    assert stages_of_jobs(sc, packed.measure) == [1]
