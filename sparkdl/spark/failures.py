"""Why a barrier stage failed: the error of ours that a task raised, or the worker that was lost.

Spark hands the driver a text alone. A task's error therefore carries what it is made of in a note,
which Python writes below the error's own line.
"""

import json
import re
from contextlib import contextmanager

from sparkdl import errors
from sparkdl.errors import SparkdlError, WorkerError
from sparkdl.spark.jobs import TRACEBACK, reason

NOTE = "sparkdl error: "
LOST = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully\.\s*(.*)", re.DOTALL)
OURS = re.compile(r"sparkdl\.errors\.((?!PeerError)\w+): (.*)")
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
    before = OURS.fullmatch(reason(text))  # raised where blocks are handed out, by an ordinary task
    if before is not None:
        return getattr(errors, before[1])(before[2])
    return WorkerError(f"the workers' job failed on the cluster: {reason(text)}")


def why(text):
    """How a worker was lost, in a line."""
    if TRACEBACK in text:
        return reason(text)
    line = re.sub(r"^([a-z]+\.)+[A-Z]\w+: ", "", text.split("\n", 1)[0])
    return line.partition(" Consider setting ")[0] or "no reason given"
