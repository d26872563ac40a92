"""Signs each log line of a worker with its rank and host, since logs are read together.

Lines go to standard error, which Spark and YARN keep with each executor's other output.
"""

import logging
import platform
import sys
from contextlib import contextmanager

SPARKDL = logging.getLogger("sparkdl")


@contextmanager
def sign_logs(rank, size):
    """Signs what sparkdl logs inside, from INFO on, with rank and host."""
    handler = logging.StreamHandler(sys.stderr)
    sender = f"rank {rank} of {size} on {platform.node()}"
    handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s {sender}: %(message)s"))
    level = SPARKDL.level
    SPARKDL.addHandler(handler)
    if level == logging.NOTSET:  # the user has set no level
        SPARKDL.setLevel(logging.INFO)
    try:
        yield
    finally:
        SPARKDL.setLevel(level)
        SPARKDL.removeHandler(handler)
