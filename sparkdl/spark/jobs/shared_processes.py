"""Reuse of Python processes between the tasks of DataFrames and of RDDs."""

from sparkdl.spark.jobs.held_settings import hold_setting

SIMPLIFIED = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"


def shared_processes(spark):
    """Lets DataFrames converted to RDDs inside compute in the Python processes of RDDs.

    Spark separates processes by their environment, and adds a variable to shorten the tracebacks of
    SQL. A second process per task would import everything again.
    """
    session, name = spark._jsparkSession, SIMPLIFIED

    def read():
        return spark.conf.get(name) if session.sessionState().conf().contains(name) else None

    def write(value):  # restores it exactly, as kept data is also identified by settings
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)

    return hold_setting((session.sessionUUID(), name), "false", read, write)
