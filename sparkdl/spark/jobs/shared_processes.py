"""Python processes that serve the tasks of DataFrames and of RDDs alike."""

from contextlib import contextmanager

SIMPLIFIED = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"


@contextmanager
def shared_processes(spark):
    """Lets DataFrames that become RDDs in here compute in the Python processes of RDDs.

    Spark keeps processes apart by their environment, and to shorten the tracebacks of SQL it adds a
    variable. A second process for each task would import everything once more.
    """
    is_set = spark._jsparkSession.sessionState().conf().contains(SIMPLIFIED)
    before = spark.conf.get(SIMPLIFIED)
    spark.conf.set(SIMPLIFIED, "false")
    try:
        yield
    finally:  # as it was: a DataFrame is known again by its settings, too
        if is_set:
            spark.conf.set(SIMPLIFIED, before)
        else:
            spark.conf.unset(SIMPLIFIED)
