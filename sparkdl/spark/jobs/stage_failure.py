"""Causes of a failed stage of workers: the error that a task raised, or the lost worker."""

import re

from sparkdl.errors import ConfigError, WorkerError
from sparkdl.spark.jobs.error_notes import read_noted_error
from sparkdl.spark.jobs.executor_python import lacks_own_module, python_cure
from sparkdl.spark.jobs.job import CANCELLED, TRACEBACK, cancellation, error_in_text, reason
from sparkdl.spark.jobs.slots import elements, value_of

LOST = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully\.\s*(.*)", re.DOTALL)
MOST_TASKS = 10000  # attempts of a stage that are looked at


def failure(text):
    """Returns the error that a failed stage's message stands for.

    A SparkdlError that a task raised is itself again; else it is a WorkerError that names the rank
    of the worker that was lost, and how, or a ConfigError where each worker would be lost so.
    """
    lost = LOST.search(text)
    noted = read_noted_error(text, f"worker {lost[1]}" if lost else "a worker")
    if noted is not None:
        return noted
    if CANCELLED.search(text):  # Spark should not try it again
        return cancellation("the workers' job")
    if lost is not None:
        return loss(f"worker {lost[1]}", lost[2])
    return error_in_text(text, "the workers' job")  # of where blocks are handed out, perhaps


def first_failure(sc, jobs):
    """Returns the error of the first task of a job's last stage that has failed, or None.

    An ordinary stage goes on after that: Spark starts the task again, some times.

    Parameters
    ----------
    jobs : numbers of jobs, of which the last counts
    """
    stages = [stage for job in jobs[-1:] for stage in stages_of(sc, job)]
    info = sc._jsc.sc().statusTracker().getStageInfo(max(stages, default=-1))
    if not info.isDefined() or not info.get().numFailedTasks():
        return None
    failed = [task for task in tasks_of(sc, max(stages)) if task.errorMessage().isDefined()]
    if not failed:  # the store is about to hear of it
        return None
    first = min(failed, key=lambda task: (task.attempt(), task.launchTime().getTime()))
    text, whose = value_of(first.errorMessage()), f"worker {first.index()}"
    return read_noted_error(text, whose) or loss(whose, text)


def loss(whose, text):
    """Returns the error of a lost worker: a ConfigError where another try would be lost, too."""
    why = loss_reason(text)
    kind = ConfigError if lacks_own_module(why) else WorkerError
    return kind(f"{whose}: {why}{python_cure(why)}")


def stages_of(sc, job):
    info = sc._jsc.sc().statusTracker().getJobInfo(job)
    return list(info.get().stageIds()) if info.isDefined() else []


def tasks_of(sc, stage, attempt=0):
    """Returns Spark's data of the tasks of an attempt of a stage."""
    return elements(sc._jsc.sc().statusStore().taskList(stage, attempt, MOST_TASKS))


def loss_reason(text):
    """Returns the cause of a lost worker, in a line."""
    if TRACEBACK in text:
        return reason(text)
    line = re.sub(r"^([a-z]+\.)+[A-Z]\w+: ", "", text.split("\n", 1)[0])
    return line.partition(" Consider setting ")[0] or "no reason given"
