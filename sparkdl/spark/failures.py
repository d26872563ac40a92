"""Why a barrier stage failed: the error of ours that a task raised, or the worker that was lost.

Spark hands the driver a text alone. A task's error therefore carries what it is made of in a note,
which Python writes below the error's own line.
"""

import json
import re
from contextlib import contextmanager

from sparkdl import errors
from sparkdl.errors import SparkdlError, WorkerError
from sparkdl.spark.jobs import TRACEBACK, reason, stands_for

NOTE = "sparkdl error: "
LOST = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully\.\s*(.*)", re.DOTALL)
CANCELLED = "SPARK_JOB_CANCELLED"


@contextmanager
def told_to_the_driver():
    """An error of ours that is raised here, in a task, can be made again by `failure`."""
    try:
        yield
    except SparkdlError as error:
        args = error.args if plain(error.args) else [str(error)]
        error.add_note(NOTE + json.dumps([type(error).__name__, *args]))
        raise


def plain(args):
    return all(isinstance(arg, str | int | None) for arg in args)


def failure(text):
    """The error that a failed stage's message stands for.

    A SparkdlError that a task raised is itself again; else it is a WorkerError that names the rank
    of the worker that was lost, and how.
    """
    notes = [line for line in text.splitlines() if line.startswith(NOTE)]
    if notes:
        name, *args = json.loads(notes[-1].removeprefix(NOTE))
        return getattr(errors, name, WorkerError)(*args)
    if CANCELLED in text:  # nobody wants it tried again
        return SparkdlError("the workers' job was cancelled on the cluster")
    lost = LOST.search(text)
    if lost is not None:
        return WorkerError(f"worker {lost[1]}: {why(lost[2])}")
    return stands_for(reason(text), "the workers' job")  # of where blocks are handed out, perhaps


def why(text):
    """How a worker was lost, in a line."""
    if TRACEBACK in text:
        return reason(text)
    line = re.sub(r"^([a-z]+\.)+[A-Z]\w+: ", "", text.split("\n", 1)[0])
    return line.partition(" Consider setting ")[0] or "no reason given"
