"""Signs each log line of a worker with its rank and host, since logs are read together.

Lines go to standard error, which Spark and YARN keep with each executor's other output. Where the
driver is the executor, that is the driver's terminal, where they would break Spark's progress bar:
warnings alone are written there.
"""

import logging
import platform
import sys
from contextlib import contextmanager

from pyspark import TaskContext

ON_DRIVER = "sparkdl.onDriver"  # a local property of jobs
SPARKDL = logging.getLogger("sparkdl")


@contextmanager
def sign_logs(rank, size):
    """Signs what sparkdl logs inside, with rank and host: from INFO on, but on a driver."""
    handler = logging.StreamHandler(sys.stderr)
    sender = f"rank {rank} of {size} on {platform.node()}"
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s {sender}: %(message)s"))
    level = SPARKDL.level
    SPARKDL.addHandler(handler)
    if level == logging.NOTSET and not is_on_driver():  # the user has set no level
        SPARKDL.setLevel(logging.INFO)
    try:
        yield
    finally:
        SPARKDL.setLevel(level)
        SPARKDL.removeHandler(handler)


def is_on_driver():
    """Returns whether this is a task in the driver's own process, whose terminal others use."""
    task = TaskContext.get()
    return task is not None and task.getLocalProperty(ON_DRIVER) is not None
