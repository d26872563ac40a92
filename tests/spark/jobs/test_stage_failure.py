"""Errors of a failed barrier stage, parsed from Spark's messages; no Spark is needed."""

import traceback
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError

from sparkdl.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    DivergedError,
    PeerError,
    ShapeError,
    SparkdlError,
    WorkerError,
)
from sparkdl.spark.jobs.error_notes import NOTE, note_errors
from sparkdl.spark.jobs.executor_python import CURE, SEND_MODULE
from sparkdl.spark.jobs.job import clear_errors
from sparkdl.spark.jobs.stage_failure import RESTARTED, failure, first_cause

STAGE = (
    "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. Most "
    "recent failure reason: Stage failed because barrier task ResultTask(5, 1) finished "
    "unsuccessfully.\n"
)
TRACE = "Traceback (most recent call last):\n  File 'a.py', line 3, in work\n    f()\n"
PYTHON = f"{STAGE}org.apache.spark.api.python.PythonException: {TRACE}"
LOST = "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: gone"
CRASH = "org.apache.spark.SparkException: Python worker exited unexpectedly. Consider setting 'a'"
GONE = "java.nio.file.NoSuchFileException: /tmp/blockmgr-1/0c"
CASES = [
    (f"{PYTHON}ValueError: no\n\n\tat org.apache.spark.A", WorkerError, "worker 1: ValueError: no"),
    (f"{STAGE}{LOST}", WorkerError, f"worker 1: {LOST}"),
    (f"{STAGE}{CRASH}\n\tat org", WorkerError, "worker 1: Python worker exited unexpectedly."),
    (STAGE, WorkerError, "worker 1: no reason given"),
    (f"{STAGE}{GONE}\n\tat java", WorkerError, "worker 1: NoSuchFileException: /tmp/blockmgr-1/0c"),
    (f"Job aborted: {TRACE}sparkdl.errors.DataError: no 3\n\n\tat org", DataError, "no 3"),
    (
        f"Job aborted: {TRACE}sparkdl.thread_start.NoThread: full\n\n\tat org",
        WorkerError,
        "the workers' job failed on the cluster: NoThread: full",
    ),
    ("No space left", WorkerError, "the workers' job failed on the cluster: No space left"),
    (
        f"{PYTHON}ModuleNotFoundError: No module named 'own'\n\n\tat org.apache.spark.A",
        ConfigError,
        f"worker 1: ModuleNotFoundError: No module named 'own'; {SEND_MODULE}",
    ),
    (
        f"{PYTHON}ModuleNotFoundError: No module named 'sparkdl.nn'\n\n\tat org.apache.spark.A",
        WorkerError,
        f"worker 1: ModuleNotFoundError: No module named 'sparkdl.nn'; {CURE}",
    ),
    (
        "[SPARK_JOB_CANCELLED] Job 3",
        SparkdlError,
        "the workers' job ended: the job was cancelled on the cluster",
    ),
]


@pytest.mark.parametrize("text, kind, message", CASES)
def test_a_loss_names_the_worker(text, kind, message):
    error = failure(text)
    assert (type(error), str(error)) == (kind, message)


JOBS = [
    (f"Job aborted: {TRACE}sparkdl.errors.DataError: no 3\n\n\tat org", DataError, "no 3"),
    (
        f"Job aborted: {TRACE}ValueError: no",
        WorkerError,
        "a test failed on the cluster: ValueError: no",
    ),
    (
        "(org.apache.spark.SparkSQLException) [OPERATION_CANCELED] Operation has been canceled.",
        SparkdlError,
        "a test ended: the job was cancelled on the cluster",
    ),
    (
        "(org.apache.spark.Error) [B] No",
        WorkerError,
        r"a test failed on the cluster: \[B\] No",
    ),
    (
        f"Job aborted: Task 0 failed, most recent failure: Lost task 0.3: {GONE}\n\tat java",
        WorkerError,
        "a test failed on the cluster: NoSuchFileException: /tmp/blockmgr-1/0c",
    ),
    (f"{TRACE}sparkdl.errors.PeerError: gone", WorkerError, "a test failed .*PeerError: gone"),
]


@pytest.mark.parametrize("text, kind, message", JOBS)
def test_a_job_fails_with_the_error_of_its_task(text, kind, message):
    with pytest.raises(kind, match=f"^{message}$"), clear_errors("a test"):
        raise Py4JError(text)


class JavaError(Py4JError):
    """An error of Java on the driver, of which py4j gives the object."""

    def __init__(self, kind, text):
        super().__init__("An error occurred while calling o1.collect.")
        named = SimpleNamespace(getSimpleName=lambda: kind)
        self.java_exception = SimpleNamespace(getMessage=lambda: text, getClass=lambda: named)


ON_DRIVER = [
    (("NoSuchFileException", "/tmp/a"), "NoSuchFileException: /tmp/a"),
    (("NullPointerException", None), "NullPointerException"),
    (("IOException", "No space left"), "No space left"),
]


@pytest.mark.parametrize("given, why", ON_DRIVER)
def test_an_error_of_java_on_the_driver_is_named_if_its_text_has_no_words(given, why):
    with pytest.raises(WorkerError, match=f"^a test failed on the cluster: {why}$"):
        with clear_errors("a test"):
            raise JavaError(*given)


OURS = [
    DataError("a\nb: c"),
    PeerError(None, "left", "gone"),
    ShapeError("a"),
    CheckpointError("b"),
    DivergedError("c"),
]


@pytest.mark.parametrize("error", OURS)
def test_an_error_of_ours_is_itself_again(error):
    with pytest.raises(type(error)) as raised, note_errors():
        raise error
    [note] = raised.value.__notes__
    again = failure(f"{PYTHON}sparkdl.errors.{type(error).__name__}: {error}\n{note}\n\n\tat org")
    assert (type(again), again.args) == (type(error), error.args)


def test_an_error_whose_parts_cannot_travel_keeps_its_text():
    error = DataError({1, 2})
    with pytest.raises(DataError) as raised, note_errors():
        raise error
    assert failure(raised.value.__notes__[0]).args == ("{1, 2}",)


class Cut(ShapeError):
    """An error class that only the worker has."""


def test_an_error_of_another_class_is_of_the_nearest_of_ours():
    with pytest.raises(Cut) as raised, note_errors():
        raise Cut("too short")
    again = failure(raised.value.__notes__[0])
    assert (type(again), str(again)) == (ShapeError, "too short")


def spark_text(error):
    """Spark's message for a task of rank 1 that raised `error`."""
    with pytest.raises(type(error)) as raised, note_errors():
        raise error
    trace = "".join(traceback.format_exception(raised.value))
    return f"{STAGE}org.apache.spark.api.python.PythonException: {trace}\n\tat org.apache.spark.A"


def test_an_error_that_is_none_of_ours_names_the_worker_and_brings_its_traceback():
    error = failure(spark_text(ZeroDivisionError("no")))
    assert (type(error), str(error)) == (WorkerError, "worker 1: ZeroDivisionError: no")
    assert "in spark_text" in error.__notes__[0]


def test_an_error_of_a_job_is_of_the_same_class_with_all_its_lines_and_notes():
    error = DivergedError("first line\nsecond line")
    error.add_note("the last checkpoint is a")
    text = spark_text(error)
    with pytest.raises(DivergedError) as caught:
        with clear_errors("a test"):
            raise Py4JError(text)
    assert str(caught.value) == "first line\nsecond line"
    assert caught.value.__notes__ == ["the last checkpoint is a"]


@pytest.mark.parametrize("note", ["", "{", "[]", "3", '{"error": "NoSuch"}', "[" * 100_000])
def test_a_note_that_says_nothing_is_no_crash(note):
    assert type(failure(f"{PYTHON}ValueError: no\n{NOTE}{note}\n")) is WorkerError


def task(index, attempt, text, launched=0):
    """Spark's data about an attempt of a task."""
    message = SimpleNamespace(isDefined=lambda: text is not None, get=lambda: text)
    data = {"index": index, "attempt": attempt, "errorMessage": message}
    date = SimpleNamespace(getTime=lambda: launched)
    return SimpleNamespace(**{k: lambda v=v: v for k, v in (data | {"launchTime": date}).items()})


RESTART = f"{TRACE}sparkdl.errors.WorkerError: worker 1: {RESTARTED}"
RAISED = f"{TRACE}ValueError: no"
STAGES = {
    "nothing failed": ([task(0, 0, None)], None),
    "a restart alone": ([task(0, 0, None), task(1, 1, RESTART)], None),
    "the first attempt counts": (
        [task(1, 1, GONE), task(0, 0, RAISED)],
        "worker 0: ValueError: no",
    ),
    "the first launch counts": (
        [task(0, 0, GONE, 2), task(1, 0, RAISED, 1)],
        "worker 1: ValueError: no",
    ),
    "a restart told first": ([task(0, 0, RESTART), task(1, 0, RAISED)], "worker 1: ValueError: no"),
}


@pytest.mark.parametrize("tasks, error", STAGES.values(), ids=STAGES)
def test_the_task_that_failed_first_is_the_cause_unless_it_was_restarted(tasks, error):
    found = first_cause(tasks)
    assert error == (found and str(found))
