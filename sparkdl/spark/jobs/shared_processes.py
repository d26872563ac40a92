"""Reuse of Python processes between the tasks of DataFrames and of RDDs."""

from contextlib import nullcontext

from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.jobs.error_notes import SIMPLIFIED_TRACEBACK
from sparkdl.spark.jobs.held_settings import hold_setting

SIMPLIFIED = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"


def shared_processes(sc, *data):
    """Lets RDDs of the jobs inside compute in the Python processes of DataFrames, if data has one.

    Spark separates processes by their environment, and by default adds a variable to SQL's. Else
    the fit of a DataFrame and the predictions after it would each start a process per slot, which
    imports everything again.
    """
    frame, name = next(filter(is_frame, data), None), SIMPLIFIED_TRACEBACK
    if frame is None or frame.sparkSession.conf.get(SIMPLIFIED) != "true":
        return nullcontext()

    def write(value):  # PySpark may be reading the dict in another thread
        others = {key: sc.environment[key] for key in sc.environment if key != name}
        sc.environment = others if value is None else others | {name: value}

    return hold_setting((sc.applicationId, name), "1", lambda: sc.environment.get(name), write)
