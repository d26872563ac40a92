"""Records that are packed for a fit over Spark Connect; a classic session packs them as well."""

import pytest

from sparkdl.spark.connect.packed_frame import PackedFrame
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.inputs.schema import schema_of
from tests.ml.frames import classes_conf
from tests.support.bus import told_all

ROWS_OF_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def small_batches(spark):
    spark.conf.set(ROWS_OF_A_BATCH, "7")
    yield
    spark.conf.unset(ROWS_OF_A_BATCH)


def test_records_of_all_batches_are_counted_by_one_job_without_a_shuffle(
    spark, path, small_batches
):
    sc, data = spark.sparkContext, spark.read.parquet(path)
    expected = data.select("id").rdd.glom().map(len).collect()
    packed = PackedFrame(SparkRecords(data), schema_of(classes_conf()))
    sc.setJobGroup("measure", "")
    counts, nbytes = packed.measure()
    tracker = told_all(sc).statusTracker()
    [job] = tracker.getJobIdsForGroup("measure")
    sc.setLocalProperty("spark.jobGroup.id", None)
    packed.close()
    assert len(tracker.getJobInfo(job).stageIds) == 1
    assert counts == expected and max(counts) > 7
    assert nbytes >= 60 * 4 * 4
