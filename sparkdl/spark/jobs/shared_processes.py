"""Reuse of Python processes between the tasks of DataFrames and of RDDs."""

from contextlib import nullcontext

from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.jobs.error_notes import SIMPLIFIED_TRACEBACK
from sparkdl.spark.jobs.held_settings import hold_setting

SIMPLIFIED = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"


def shared_processes(sc, data):
    """Lets RDDs of the jobs inside compute in the Python processes of DataFrames, if data is one.

    Spark separates processes by their environment, and by default adds a variable to SQL's. Else
    the fit of a DataFrame and the predictions after it would each start a process per slot, which
    imports everything again.
    """
    if not is_frame(data) or data.sparkSession.conf.get(SIMPLIFIED) != "true":
        return nullcontext()
    environment, name = sc.environment, SIMPLIFIED_TRACEBACK  # for functions sent from now on

    def write(value):
        environment.pop(name, None)
        if value is not None:
            environment[name] = value

    return hold_setting((sc.applicationId, name), "1", lambda: environment.get(name), write)
