"""Causes of a failed stage of workers: the error that a task raised, or the lost worker."""

import re

from sparkdl.errors import ConfigError, WorkerError
from sparkdl.spark.jobs.error_notes import read_noted_error
from sparkdl.spark.jobs.executor_python import lacks_own_module, python_cure
from sparkdl.spark.jobs.job import (
    CANCELLED,
    TRACEBACK,
    cancellation,
    error_in_text,
    reason,
    without_class,
)
from sparkdl.spark.jobs.slots import elements, value_of

LOST = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully\.\s*(.*)", re.DOTALL)
MOST_TASKS = 10000  # task attempts of a stage that are examined
RESTARTED = "its task was lost, and Spark has started it again"  # follows from another failure


def failure(text):
    """Returns the error described by a failed stage's message.

    A SparkdlError that a task raised is restored; otherwise a WorkerError names the rank of the
    lost worker and the reason, or a ConfigError if every retry would fail in the same way.
    """
    lost = LOST.search(text)
    noted = read_noted_error(text, f"worker {lost[1]}" if lost else "a worker")
    if noted is not None:
        return noted
    if CANCELLED.search(text):  # not to be retried
        return cancellation("the workers' job")
    if lost is not None:
        return loss(f"worker {lost[1]}", lost[2])
    return error_in_text(text, "the workers' job")  # perhaps from handing out blocks


def first_failure(sc, jobs):
    """Returns the error of the first failed task of a job's last stage, or None.

    An ordinary stage continues after a failure: Spark retries the task a few times.

    Parameters
    ----------
    jobs : numbers of jobs, of which the last one counts
    """
    stages = [stage for job in jobs[-1:] for stage in stages_of(sc, job)]
    info = sc._jsc.sc().statusTracker().getStageInfo(max(stages, default=-1))
    if not info.isDefined() or not info.get().numFailedTasks():
        return None
    return first_cause(tasks_of(sc, max(stages)))


def first_cause(tasks):
    """Returns the error of the task that failed first, or None.

    That a task was restarted is no cause, nor is its error the first: Spark has been seen to give
    it to a task of the next stage.
    """
    failed = [
        task for task in tasks if RESTARTED not in (value_of(task.errorMessage()) or RESTARTED)
    ]
    if not failed:  # the status store lags behind
        return None
    first = min(failed, key=lambda task: (task.attempt(), task.launchTime().getTime()))
    text, whose = value_of(first.errorMessage()), f"worker {first.index()}"
    return read_noted_error(text, whose) or loss(whose, text)


def loss(whose, text):
    """Returns the error of a lost worker: a ConfigError if a retry would fail in the same way."""
    why = loss_reason(text)
    kind = ConfigError if lacks_own_module(why) else WorkerError
    return kind(f"{whose}: {why}{python_cure(why)}")


def stages_of(sc, job):
    info = sc._jsc.sc().statusTracker().getJobInfo(job)
    return list(info.get().stageIds()) if info.isDefined() else []


def tasks_of(sc, stage, attempt=0):
    """Returns Spark's data about the tasks of a stage attempt."""
    return elements(sc._jsc.sc().statusStore().taskList(stage, attempt, MOST_TASKS))


def loss_reason(text):
    """Returns the cause of a lost worker, in one line."""
    if TRACEBACK in text:
        return reason(text)
    line = without_class(text.split("\n", 1)[0])
    return line.partition(" Consider setting ")[0] or "no reason given"
