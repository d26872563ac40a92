"""Python processes that serve the tasks of DataFrames and of RDDs alike."""

from sparkdl.spark.jobs.held_settings import hold_setting

SIMPLIFIED = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"


def shared_processes(spark):
    """Lets DataFrames that become RDDs in here compute in the Python processes of RDDs.

    Spark keeps processes apart by their environment, and to shorten the tracebacks of SQL it adds a
    variable. A second process for each task would import everything once more.
    """
    session, name = spark._jsparkSession, SIMPLIFIED

    def read():
        return spark.conf.get(name) if session.sessionState().conf().contains(name) else None

    def write(value):  # as it was: a DataFrame is known again by its settings, too
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)

    return hold_setting((session.sessionUUID(), name), "false", read, write)
