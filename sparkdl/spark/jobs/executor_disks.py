"""Local disks of an executor."""

import os


def local_disks():
    """Returns the folders in which Spark keeps the files of this task's executor."""
    return os.environ["SPARK_LOCAL_DIRS"].split(",")
