"""Executors of the tests, which come late where other processes have the cores."""

from sparkdl.spark.jobs import slots


def all_awaited():
    """From now on a fit of this process waits, as long as it takes, for the executors asked for."""
    slots.EXECUTOR_TIMEOUT = 200.0  # seconds
