"""DataFrames and RDDs compute in the same Python processes."""

import os

import pytest
from pyspark.errors import PySparkException

from sparkdl.errors import DataError
from sparkdl.spark.jobs.error_notes import SIMPLIFIED_TRACEBACK, note_errors
from sparkdl.spark.jobs.shared_processes import SIMPLIFIED, shared_processes


def name_processes(tables):
    """Yields, for each table, the process that reads it."""
    import pyarrow

    for _ in tables:
        yield pyarrow.RecordBatch.from_pydict({"process": [os.getpid()]})


def processes_of_frames(spark):
    rows = spark.range(2, numPartitions=2).mapInArrow(name_processes, "process long").collect()
    return {row.process for row in rows}


def processes_of_rdds(sc):
    return set(sc.parallelize(range(2), 2).map(lambda _: os.getpid()).collect())


@pytest.fixture(params=["true", "false"])
def simplified(request, spark):
    """The setting of Spark: its default, and that of sparkdl's sessions."""
    before = spark.conf.get(SIMPLIFIED)
    spark.conf.set(SIMPLIFIED, request.param)
    yield request.param
    spark.conf.set(SIMPLIFIED, before)


def test_rdds_compute_in_the_processes_of_frames(simplified, spark, sc):
    before = dict(sc.environment)
    with shared_processes(sc, None, spark.range(1)):
        ours = processes_of_rdds(sc)
    assert ours & processes_of_frames(spark)  # each task takes any free process
    assert sc.environment == before


def test_rdds_keep_their_processes_if_the_data_is_no_frame(sc):
    before = dict(sc.environment)
    for data in (None, sc.parallelize([1])):
        with shared_processes(sc, data):
            assert sc.environment == before


def fail_with_cause(tables):
    with note_errors():
        for _ in tables:
            try:
                {}["inner"]
            except KeyError as error:
                raise DataError("outer") from error
    yield from ()


def test_spark_tells_the_causes_of_an_error(simplified, spark):
    with pytest.raises(PySparkException, match=r"(?s)KeyError: 'inner'.*DataError: outer"):
        spark.range(1).mapInArrow(fail_with_cause, "id long").collect()


def test_the_variable_is_the_one_of_spark(simplified, spark):
    def look(tables):
        import pyarrow

        for _ in tables:
            own = SIMPLIFIED_TRACEBACK in os.environ
            yield pyarrow.RecordBatch.from_pydict({"own": [own]})

    found = {row.own for row in spark.range(1).mapInArrow(look, "own boolean").collect()}
    assert found == {simplified == "true"}
