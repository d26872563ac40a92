"""Tasks waiting for an executor that holds their data but was lost before it got a slot."""

import time
from threading import Event, Thread
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from sparkdl.spark.jobs import lost_places
from sparkdl.spark.jobs.job import job, staying_with_data
from sparkdl.spark.jobs.lost_places import EXECUTOR_WAIT, STILL, LostPlaces, release_tasks
from sparkdl.spark.jobs.slots import executor_locations
from sparkdl.spark.records.locality import parallelize_at

LIMIT = 100.0  # seconds; Spark alone would wait for an hour


def test_a_task_whose_executor_was_lost_runs_elsewhere(sc, monkeypatch):
    """The executor was lost before the job began, so Spark reports no loss during the job."""
    monkeypatch.setattr(LostPlaces, "begin", 0.5)
    conf, [place, *_] = sc._jsc.sc().conf(), executor_locations(sc)
    lost = place.rpartition("_")[0] + "_999"  # an executor that Spark no longer knows
    rdd, start = parallelize_at(sc, ["a", "b"], [[place], [lost]]), time.monotonic()
    with staying_with_data(sc), job(sc, "a test", "a test"):
        wait = conf.get(EXECUTOR_WAIT, None)
        assert rdd.collect() == ["a", "b"]
        assert conf.get(EXECUTOR_WAIT, None) == wait == "1h"
    assert time.monotonic() - start < LIMIT


def job_data(running=0, ended=0):
    """Spark's data of a job with these numbers of running and completed tasks."""
    names = "FailedTasks", "KilledTasks", "CompletedStages"
    counts = dict.fromkeys((f"num{name}" for name in names), lambda: 0)
    counts |= {"numActiveTasks": lambda: running, "numCompletedTasks": lambda: ended}
    return SimpleNamespace(jobId=lambda: 7, **counts)


def runs_task(sc, jobs):
    return any(job.numActiveTasks() for job in jobs)


STUCK, RUNNING, FURTHER = job_data(), job_data(running=1), job_data(ended=1)


def test_an_executor_that_is_busy_meanwhile_is_waited_for_anew(monkeypatch):
    released, vain = [], iter([True, False, True, True])
    clock = iter(range(0, 100, int(STILL)))
    monkeypatch.setattr(lost_places, "release_tasks", released.append)
    monkeypatch.setattr(lost_places, "runs_task", runs_task)
    monkeypatch.setattr(LostPlaces, "_waits_in_vain", lambda _: next(vain))
    monkeypatch.setattr(lost_places.time, "monotonic", lambda: next(clock))
    places = LostPlaces("sc")
    for expected in ([], ["sc"], ["sc"], ["sc"] * 2):
        places.look([STUCK])
        assert released == expected


@pytest.mark.parametrize(
    "looks, count",
    [
        ([[STUCK], [STUCK]], 1),
        ([[STUCK], [STUCK], [STUCK]], 2),
        ([[STUCK]], 0),  # a task may be about to start
        ([[STUCK], [STUCK, RUNNING]], 0),
        ([[STUCK], [FURTHER]], 0),  # a task ran between the two checks
        ([[STUCK], [RUNNING], [FURTHER]], 0),
        ([[], []], 0),  # the job has ended
    ],
)
def test_tasks_are_released_where_none_runs_for_a_while(looks, count, monkeypatch):
    released, clock = [], iter(range(0, 100, int(STILL)))
    monkeypatch.setattr(lost_places, "release_tasks", released.append)
    monkeypatch.setattr(lost_places, "runs_task", runs_task)
    monkeypatch.setattr(LostPlaces, "_waits_in_vain", lambda _: True)
    monkeypatch.setattr(lost_places.time, "monotonic", lambda: next(clock))
    places = LostPlaces("sc")
    for jobs in looks:
        places.look(jobs)
    assert released == ["sc"] * count


def executor(name="1", tasks=0, most=2, lost=None):
    """Spark's summary of an executor that has `tasks` tasks or, given `lost`, was lost."""
    end = SimpleNamespace(getTime=lambda: 1000 * (time.time() + lost))
    ends = SimpleNamespace(isDefined=lambda: lost is not None, get=lambda: end)
    return SimpleNamespace(
        id=lambda: name,
        isActive=lambda: lost is None,
        removeTime=lambda: ends,
        maxTasks=lambda: most,
        tasks=tasks,
    )


DRIVER, IDLE, BUSY, FULL = (
    executor("driver", most=0),
    executor(),
    executor("2", 1),
    executor("3", 2),
)
LOST, LOST_BEFORE = executor("4", lost=10), executor("5", lost=-10)


@pytest.mark.parametrize(
    "known, leaving, in_vain",
    [
        ([DRIVER, IDLE, LOST_BEFORE], {}, True),  # no executor keeps a task waiting
        ([DRIVER, IDLE, BUSY], {}, False),
        ([DRIVER, IDLE, BUSY, LOST_BEFORE], {}, False),
        ([DRIVER, IDLE, BUSY, LOST], {}, True),
        ([DRIVER, IDLE, FULL, LOST], {}, False),  # tasks may be waiting for that executor
        ([DRIVER, IDLE, FULL], {"3"}, True),
        ([DRIVER, BUSY, FULL], {"3"}, True),
        ([DRIVER, BUSY, FULL], {"2"}, False),
        ([DRIVER], {}, True),
    ],
)
def test_tasks_wait_in_vain_unless_an_executor_that_stays_is_busy(
    known, leaving, in_vain, monkeypatch
):
    tasks = {one.id(): one.tasks for one in known}
    monkeypatch.setattr(lost_places, "known_executors", lambda _: known)
    monkeypatch.setattr(
        lost_places, "running_tasks", lambda _, names: {name: tasks[name] for name in names}
    )
    monkeypatch.setattr(lost_places, "leaving_executors", lambda _: set(leaving))
    assert LostPlaces("sc")._waits_in_vain() == in_vain


class Conf(dict):
    """Spark's settings."""

    set, remove = dict.__setitem__, dict.__delitem__


def test_the_wait_is_the_users_again_when_a_job_ends_as_its_tasks_are_released():
    conf, ended = Conf(), Event()

    def tell_spark(*_):
        thread.start()
        ended.wait(1.0)

    def end():
        staying.__exit__(None, None, None)
        ended.set()

    scheduler = SimpleNamespace(executorDecommission=tell_spark)
    context = SimpleNamespace(conf=lambda: conf, taskScheduler=lambda: scheduler)
    sc = SimpleNamespace(applicationId="a", _jvm=MagicMock(), _jsc=SimpleNamespace())
    sc._jsc.sc = lambda: context
    staying, thread = staying_with_data(sc), Thread(target=end)
    staying.__enter__()
    release_tasks(sc)
    assert ended.wait(20) and conf == {}
