"""Causes of a failed barrier stage: the error that a task raised, or the worker that was lost."""

import re

from sparkdl.errors import SparkdlError, WorkerError
from sparkdl.spark.jobs.error_notes import read_noted_error
from sparkdl.spark.jobs.job import TRACEBACK, error_in_text, reason

LOST = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully\.\s*(.*)", re.DOTALL)
CANCELLED = "SPARK_JOB_CANCELLED"


def failure(text):
    """Returns the error that a failed stage's message stands for.

    A SparkdlError that a task raised is itself again; else it is a WorkerError that names the rank
    of the worker that was lost, and how.
    """
    lost = LOST.search(text)
    noted = read_noted_error(text, f"worker {lost[1]}" if lost else "a worker")
    if noted is not None:
        return noted
    if CANCELLED in text:  # Spark should not try it again
        return SparkdlError("the workers' job was cancelled on the cluster")
    if lost is not None:
        return WorkerError(f"worker {lost[1]}: {loss_reason(lost[2])}")
    return error_in_text(text, "the workers' job")  # of where blocks are handed out, perhaps


def loss_reason(text):
    """Returns the cause of a lost worker, in a line."""
    if TRACEBACK in text:
        return reason(text)
    line = re.sub(r"^([a-z]+\.)+[A-Z]\w+: ", "", text.split("\n", 1)[0])
    return line.partition(" Consider setting ")[0] or "no reason given"
