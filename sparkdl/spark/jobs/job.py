"""Context managers for Spark jobs: descriptions on Spark's pages, and clear errors."""

import re
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.error_messages import error_from_json
from sparkdl.errors import ConfigError, SparkdlError, WorkerError, named
from sparkdl.spark.jobs.error_notes import read_noted_error
from sparkdl.spark.jobs.executor_python import lacks_own_module, python_cure
from sparkdl.spark.jobs.full_heap import heap_cure
from sparkdl.spark.jobs.held_settings import context_setting, hold_setting
from sparkdl.spark.jobs.interrupts import interruptible
from sparkdl.spark.jobs.job_tags import JOB_GROUP, JOB_TAGS
from sparkdl.spark.jobs.job_watch import watch_job
from sparkdl.spark.jobs.log_prefix import ON_DRIVER
from sparkdl.spark.jobs.lost_places import EXECUTOR_WAIT, LostPlaces
from sparkdl.spark.jobs.page_link import link_of
from sparkdl.spark.jobs.waiting import BEFORE, SlotWait

DESCRIPTION = "spark.job.description"
LOCALITY_WAIT = "spark.locality.wait"  # for executors and for hosts
NO_PYTHON = "Error from python worker:"  # that it printed, indented, as it could not start
TRACEBACK = "Traceback (most recent call last):"
CANCELLED = re.compile("SPARK_JOB_CANCELLED|OPERATION_CANCELED")  # the last over Spark Connect
OF_JAVA = re.compile(r"(?:[a-z]+\.)+([A-Z]\w+): |\((?:[a-z]+\.)+([A-Z]\w+)\) ")  # a line's start
OURS = re.compile(r"sparkdl\.(?:errors|thread_start)\.(\w+): (.*)")


@contextmanager
def job(sc, description, doing, *questions, takes_turns=False):
    """Describes the jobs run inside; one that fails for good raises a clear error.

    Parameters
    ----------
    description : str
        What Spark's pages show.
    doing : str
        Begins the error: "a round" failed on the cluster.
    questions : objects with `begin` and `look`
        Further checks while it runs; see watch_job.
    takes_turns : bool
        As in SlotWait.
    """
    with interruptible(sc), describe_jobs(sc, description):
        with watch(sc, description, *questions, takes_turns=takes_turns), clear_errors(doing):
            yield


@contextmanager
def describe_jobs(sc, description):
    """Describes the jobs run inside on Spark's pages, and tells their tasks where they run."""
    on_driver = "true" if sc._jsc.sc().isLocal() else None
    with local_property(sc, DESCRIPTION, on_pages(sc, description)):
        with local_property(sc, ON_DRIVER, on_driver):
            yield


def watch(sc, description, *questions, is_one=False, takes_turns=False):
    """Logs what the jobs run inside wait for, and ends those that wait too long. Gives a JobWatch.

    `is_one` and `takes_turns` as in SlotWait.
    """
    looks = LostPlaces(sc), SlotWait(sc, description, is_one, takes_turns), *questions
    return watch_job(sc, *looks)


def on_pages(sc, description):
    """Returns a job's description as shown on Spark's pages."""
    return BEFORE + description + link_of(sc)


@contextmanager
def outside_user_tags(sc):
    """Keeps the jobs run inside out of the user's job group and tags, which may be cancelled."""
    with local_property(sc, JOB_GROUP, None), local_property(sc, JOB_TAGS, None):
        yield


@contextmanager
def local_property(sc, name, value):
    """Sets a local property of Spark for the jobs that this thread runs inside."""
    before = sc.getLocalProperty(name)
    sc.setLocalProperty(name, value)
    try:
        yield
    finally:
        sc.setLocalProperty(name, before)


@contextmanager
def clear_errors(doing):
    """Raises a clear error for a Spark job that failed for good.

    It is sparkdl's own error if a task raised one, or a WorkerError that gives the reason.
    """
    try:
        yield
    except (Py4JError, PySparkException) as error:
        raise error_in_text(message(error), doing) from error


def error_in_text(text, doing):
    """Returns the error described by Spark's text, restoring sparkdl's own if a task raised one."""
    whose = f"{doing} failed on the cluster"
    if (noted := read_noted_error(text, whose)) is not None:
        return noted
    if CANCELLED.search(text):
        return cancellation(doing)
    why = reason(text)
    if match := OURS.fullmatch(why):  # without a note its line says enough
        return error_from_json({"error": match[1], "arguments": [match[2]]}, whose)
    kind = ConfigError if lacks_own_module(why) else WorkerError
    return kind(f"{whose}: {why}{python_cure(why)}{heap_cure(text)}")


def cancellation(doing: str) -> SparkdlError:
    """Returns the error of a job that was cancelled by someone else."""
    return SparkdlError(f"{doing} ended: the job was cancelled on the cluster")


def message(error: Any) -> str:
    """Returns Spark's message in an error of py4j or pyspark."""
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return str(error)
    return named(cause.getClass().getSimpleName(), cause.getMessage() or "")


def reason(text: str) -> str:
    """Returns the line of a Spark message that gives the reason: the Python error's if there is
    one.
    """
    lines = [line for line in text.splitlines() if line.strip()] or ["no reason given"]
    if NO_PYTHON in lines:
        printed = takewhile(lambda line: line[0].isspace(), lines[lines.index(NO_PYTHON) + 1 :])
        return [NO_PYTHON, *map(str.strip, printed)][-1]
    traces = [number for number, line in enumerate(lines) if TRACEBACK in line]
    if traces:  # the frames of a traceback are indented, unlike the error below them
        errors = [line for line in lines[traces[-1] + 1 :] if not line[0].isspace()]
        if errors:
            return errors[0]
    last_try = re.sub(r".* most recent failure: (Lost task [^:]*: )?", "", lines[0])
    return without_class(last_try)


def without_class(line: str) -> str:
    """Returns the line of a Java exception without its class, unless the rest has no words."""
    match = OF_JAVA.match(line)
    return line if match is None else named(match[1] or match[2], line[match.end() :])


def no_waiting_for_locality(sc):
    """Runs tasks wherever a slot is free; compare `staying_with_data`.

    Otherwise a task would wait 3 s for the executor that holds its block while another idles, yet a
    block can be fetched in milliseconds.
    """
    return hold_of_context(sc, LOCALITY_WAIT, "0")


def staying_with_data(sc):
    """Runs tasks where their data lies, even on a busy executor, as long as it lives.

    Other executors may be unable to open its files. Tasks started meanwhile by other threads also
    stay with an executor's data; those that only prefer a host, as after a shuffle, do not.
    """
    return hold_of_context(sc, EXECUTOR_WAIT, "1h")


def hold_of_context(sc, name, value):
    """Changes a setting of the context inside; Spark reads it for each stage."""
    return hold_setting((sc.applicationId, name), value, *context_setting(sc, name))
