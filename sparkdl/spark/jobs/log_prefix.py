"""Prefix of a worker's log lines: its rank and host, as the logs of workers are read together.

Lines go to standard error, which Spark and YARN keep with each executor's other output. In local
mode that is the driver's terminal, where they would break Spark's progress bar: only warnings are
written there.
"""

import logging
import platform
import sys
from contextlib import contextmanager

from pyspark import TaskContext

ON_DRIVER = "sparkdl.onDriver"  # local property of jobs
SPARKDL = logging.getLogger("sparkdl")


@contextmanager
def sign_logs(rank, size):
    """Prefixes sparkdl's logs with rank and host; logs from INFO on, except on a driver."""
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
    """Returns whether this task runs in the driver's own process, whose terminal is shared."""
    task = TaskContext.get()
    return task is not None and task.getLocalProperty(ON_DRIVER) is not None
