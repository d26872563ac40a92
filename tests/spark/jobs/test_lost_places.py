"""Tasks that stay with an executor's data where that executor was lost before it had a slot."""

import time
from types import SimpleNamespace

import pytest

from sparkdl.spark.jobs.job import job, staying_with_data
from sparkdl.spark.jobs.lost_places import EXECUTOR_WAIT, LostPlaces
from sparkdl.spark.jobs.slots import executor_locations
from sparkdl.spark.records.locality import parallelize_at

LIMIT = 100.0  # seconds; Spark alone would wait for an hour


def test_a_task_whose_executor_was_lost_runs_elsewhere(sc, monkeypatch):
    monkeypatch.setattr(LostPlaces, "begin", 0.5)
    monkeypatch.setattr(LostPlaces, "_has_lost", lambda _: True)
    conf, [place, *_] = sc._jsc.sc().conf(), executor_locations(sc)
    lost = place.rpartition("_")[0] + "_999"  # an executor that Spark does not know any more
    rdd, start = parallelize_at(sc, ["a", "b"], [[place], [lost]]), time.monotonic()
    with staying_with_data(sc), job(sc, "a test", "a test"):
        wait = conf.get(EXECUTOR_WAIT, None)
        assert rdd.collect() == ["a", "b"]
        assert conf.get(EXECUTOR_WAIT, None) == wait == "1h"
    assert time.monotonic() - start < LIMIT


def summary(seconds=None):
    """Spark's summary of an executor that was lost at that time, or of one that lives."""
    ends = SimpleNamespace(
        isDefined=lambda: seconds is not None,
        get=lambda: SimpleNamespace(getTime=lambda: 1000 * seconds),
    )
    return SimpleNamespace(removeTime=lambda: ends)


STUCK, RUNNING = (SimpleNamespace(numActiveTasks=lambda tasks=tasks: tasks) for tasks in (0, 1))


@pytest.mark.parametrize(
    "jobs, after, count",
    [
        ([STUCK], 1, 1),
        ([STUCK, RUNNING], 1, 0),  # a task runs
        ([], 1, 0),  # the job has ended
        ([STUCK], -1, 0),  # an executor was lost before the job began
        ([STUCK], None, 0),  # all live
    ],
)
def test_tasks_are_released_where_none_runs_and_an_executor_was_lost(
    jobs, after, count, monkeypatch
):
    released, place = [], "sparkdl.spark.jobs.lost_places"
    lost = after and time.time() + 10 * after
    monkeypatch.setattr(f"{place}.known_executors", lambda _: [summary(), summary(lost)])
    monkeypatch.setattr(f"{place}.release_tasks", released.append)
    LostPlaces("sc").look(jobs)
    assert released == ["sc"] * count
