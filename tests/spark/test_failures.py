"""What Spark says of a barrier stage that failed, in our words; no Spark is needed for these."""

from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError

from sparkdl.errors import ConfigError, DataError, PeerError, SparkdlError, WorkerError
from sparkdl.spark.failures import failure, told_to_the_driver
from sparkdl.spark.jobs import clear_errors
from sparkdl.spark.slots import check_barrier, executors_wanted

STAGE = (
    "Job aborted due to stage failure: Could not recover from a failed barrier ResultStage. Most "
    "recent failure reason: Stage failed because barrier task ResultTask(5, 1) finished "
    "unsuccessfully.\n"
)
TRACE = "Traceback (most recent call last):\n  File 'a.py', line 3, in work\n    f()\n"
PYTHON = f"{STAGE}org.apache.spark.api.python.PythonException: {TRACE}"
LOST = "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: gone"
CRASH = "org.apache.spark.SparkException: Python worker exited unexpectedly. Consider setting 'a'"
CASES = [
    (f"{PYTHON}ValueError: no\n\n\tat org.apache.spark.A", WorkerError, "worker 1: ValueError: no"),
    (f"{STAGE}{LOST}", WorkerError, f"worker 1: {LOST}"),
    (f"{STAGE}{CRASH}\n\tat org", WorkerError, "worker 1: Python worker exited unexpectedly."),
    (STAGE, WorkerError, "worker 1: no reason given"),
    (f"Job aborted: {TRACE}sparkdl.errors.DataError: no 3\n\n\tat org", DataError, "no 3"),
    ("No space left", WorkerError, "the workers' job failed on the cluster: No space left"),
    ("[SPARK_JOB_CANCELLED] Job 3", SparkdlError, "the workers' job was cancelled on the cluster"),
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
    (f"{TRACE}sparkdl.errors.PeerError: gone", WorkerError, "a test failed .*PeerError: gone"),
]


@pytest.mark.parametrize("text, kind, message", JOBS)
def test_a_job_fails_with_the_error_of_its_task(text, kind, message):
    with pytest.raises(kind, match=f"^{message}$"), clear_errors("a test"):
        raise Py4JError(text)


@pytest.mark.parametrize("error", [DataError("a\nb: c"), PeerError(None, "left", "gone")])
def test_an_error_of_ours_is_itself_again(error):
    with pytest.raises(type(error)) as raised, told_to_the_driver():
        raise error
    [note] = raised.value.__notes__
    again = failure(f"{PYTHON}sparkdl.errors.{type(error).__name__}: {error}\n{note}\n\n\tat org")
    assert (type(again), again.args) == (type(error), error.args)


def test_an_error_whose_parts_cannot_travel_keeps_its_text():
    error = DataError({1, 2})
    with pytest.raises(DataError) as raised, told_to_the_driver():
        raise error
    assert failure(raised.value.__notes__[0]).args == ("{1, 2}",)


def context(master, **options):
    options = {f"spark.{name}": value for name, value in options.items()}
    return SimpleNamespace(master=master, getConf=lambda: options)


def test_dynamic_allocation_is_refused_by_name():
    sc = context("yarn", **{"dynamicAllocation.enabled": "true"})
    with pytest.raises(ConfigError, match="spark.dynamicAllocation.enabled must be false"):
        check_barrier(sc, 2, 2)
    check_barrier(context("local[2]", **{"dynamicAllocation.enabled": "true"}), 2, 2)


WANTED = [
    (context("local-cluster[ 3 , 1, 512]"), 3),
    (context("yarn", **{"executor.instances": "4"}), 4),
    (context("yarn", **{"executor.instances": "4", "dynamicAllocation.enabled": "true"}), 0),
    (context("spark://a:7077", **{"cores.max": "8", "executor.cores": "2"}), 4),
    (context("spark://a:7077", **{"cores.max": "8"}), 0),
    (context("local[2]"), 0),
]


@pytest.mark.parametrize("sc, count", WANTED)
def test_executors_that_spark_was_asked_for(sc, count):
    assert executors_wanted(sc) == count
