"""The error of a JVM without memory says whose it is, and what to raise."""

import pytest

from sparkdl.errors import WorkerError
from sparkdl.spark.jobs.job import error_in_text

LOST = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: "
    "Lost task 0.3 in stage 1.0 (TID 4) (host executor 1): java.lang.OutOfMemoryError: "
)
IN_DRIVER = LOST.replace("executor 1", "executor driver")


@pytest.mark.parametrize(
    "text, cure",
    [
        ("Java heap space", "driver's JVM had no memory left: raise spark.driver.memory .*, or"),
        (f"{IN_DRIVER}Java heap space", "driver's JVM had no memory left: raise spark.driver"),
        (f"{LOST}Java heap space", "executor's JVM had no memory left: raise spark.executor.memo"),
    ],
    ids=["driver", "driver that is the executor", "executor"],
)
def test_a_full_heap_has_a_cure(text, cure):
    error = error_in_text(text, "reading the data")
    assert isinstance(error, WorkerError)
    with pytest.raises(WorkerError, match=f"^reading the data failed on the cluster: .*; .*{cure}"):
        raise error


OTHERS = [
    "no space left",
    "torch.OutOfMemoryError: CUDA out of memory",
    "java.lang.OutOfMemoryError: Metaspace",
    "java.lang.OutOfMemoryError: unable to create native thread",
]


@pytest.mark.parametrize("text", OTHERS)
def test_other_errors_have_none(text):
    assert "spark." not in str(error_in_text(text, "a round"))
