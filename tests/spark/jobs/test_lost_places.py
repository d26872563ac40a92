"""Tasks waiting for an executor that holds their data but was lost before it got a slot."""

import time
from threading import Event, Thread
from types import SimpleNamespace

import pytest
from pyspark import InheritableThread
from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests

from sparkdl.spark.jobs import lost_places
from sparkdl.spark.jobs.job import job, staying_with_data
from sparkdl.spark.jobs.job_tags import add_tag
from sparkdl.spark.jobs.job_watch import jobs_tagged
from sparkdl.spark.jobs.lost_places import (
    EXECUTOR_WAIT,
    STILL,
    LostPlaces,
    is_full,
    release_tasks,
)
from sparkdl.spark.jobs.slots import executor_locations, live_executors
from sparkdl.spark.jobs.task_resources import known_profile
from sparkdl.spark.records.locality import parallelize_at
from tests.support.held_slots import held_slots
from tests.support.waiting import until

LIMIT = 100.0  # seconds; Spark alone would wait for an hour
DEFAULT = 0  # the id of the session's own ResourceProfile


def test_a_task_whose_executor_was_lost_runs_elsewhere(sc, monkeypatch):
    """The executor was lost before the job began, so Spark reports no loss during the job."""
    monkeypatch.setattr(LostPlaces, "begin", 0.5)
    conf, start = sc._jsc.sc().conf(), time.monotonic()
    with staying_with_data(sc), job(sc, "a test", "a test"):
        wait = conf.get(EXECUTOR_WAIT, None)
        assert half_lost(sc).collect() == ["a", "b"]
        assert conf.get(EXECUTOR_WAIT, None) == wait == "1h"
    assert time.monotonic() - start < LIMIT


def half_lost(sc):
    """Returns an RDD whose second partition lay on an executor that Spark no longer knows."""
    place = executor_locations(sc)[0]
    return parallelize_at(sc, ["a", "b"], [[place], [place.rpartition("_")[0] + "_999"]])


def test_tasks_of_other_jobs_are_not_released(sc):
    def collect(tag):
        add_tag(sc, tag)
        with staying_with_data(sc):
            assert half_lost(sc).collect() == ["a", "b"]

    def waits(tag):
        return [one.numCompletedTasks() for one in jobs_tagged(sc, tag)] == [1]

    tags = "first of a test", "second of a test"
    threads = [InheritableThread(target=collect, args=(tag,), daemon=True) for tag in tags]
    for thread, tag in zip(threads, tags, strict=True):
        thread.start()
        until(lambda tag=tag: waits(tag))
    for thread, tag in zip(threads, tags, strict=True):
        assert waits(tag)
        release_tasks(sc, jobs_tagged(sc, tag))
        thread.join(60)
        assert not thread.is_alive()


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
    monkeypatch.setattr(lost_places, "release_tasks", lambda sc, jobs: released.append(jobs))
    monkeypatch.setattr(lost_places, "runs_task", runs_task)
    monkeypatch.setattr(LostPlaces, "_wait_in_vain", lambda *_: next(vain))
    monkeypatch.setattr(lost_places.time, "monotonic", lambda: next(clock))
    places = LostPlaces("sc")
    for expected in (0, 1, 1, 2):
        places.look([STUCK])
        assert released == [[STUCK]] * expected


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
    monkeypatch.setattr(lost_places, "release_tasks", lambda sc, jobs: released.append(jobs))
    monkeypatch.setattr(lost_places, "runs_task", runs_task)
    monkeypatch.setattr(LostPlaces, "_wait_in_vain", lambda *_: True)
    monkeypatch.setattr(lost_places.time, "monotonic", lambda: next(clock))
    places = LostPlaces("sc")
    for jobs in looks:
        places.look(jobs)
    assert released == [[STUCK]] * count


def executor(name="1", tasks=0, lost=None):
    """Spark's summary of an executor that has `tasks` tasks or, given `lost`, was lost."""
    end = SimpleNamespace(getTime=lambda: 1000 * (time.time() + lost))
    ends = SimpleNamespace(isDefined=lambda: lost is not None, get=lambda: end)
    return SimpleNamespace(
        id=lambda: name,
        isActive=lambda: lost is None,
        removeTime=lambda: ends,
        tasks=tasks,
    )


DRIVER, IDLE, BUSY, FULL = (
    executor("driver"),
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
    monkeypatch.setattr(lost_places, "is_full", lambda _, name, __: name == FULL.id())
    task_set = SimpleNamespace(taskSet=lambda: SimpleNamespace(resourceProfileId=lambda: DEFAULT))
    monkeypatch.setattr(lost_places, "task_sets", lambda *_: [task_set])
    assert LostPlaces("sc")._wait_in_vain([STUCK]) == in_vain


def test_an_executor_is_full_by_what_its_tasks_take(sc):
    """Not by their number: tasks of other ResourceProfiles may take more of it."""
    two_cores = ResourceProfileBuilder().require(TaskResourceRequests().cpus(2)).build
    large = known_profile(sc, two_cores)._java_resource_profile.id()
    names = [name for name, _ in live_executors(sc)]

    def full(profile):
        return [is_full(sc, name, profile) for name in names]

    until(lambda: full(DEFAULT) == [False, False])  # a task's end is told before its core is free
    assert full(large) == [True, True]
    with held_slots(sc):
        assert full(DEFAULT) == [True, True]
    until(lambda: full(DEFAULT) == [False, False])
    assert not is_full(sc, "999", DEFAULT)


FREE_GPUS = [({}, 1.0, True), ({"gpu": 1}, 1.0, False), ({"gpu": 1}, 2.0, True)]
FREE_GPUS += [({"gpu": 0}, 0.5, True), ({"gpu": 1}, 0.5, False)]


@pytest.mark.parametrize("free, amount, expected", FREE_GPUS)
@pytest.mark.parametrize("may_run", [True, False])
def test_an_executor_is_full_without_a_free_gpu(free, amount, expected, may_run):
    def some(value):
        is_there, text = value is not None, f"Some({value})"
        return SimpleNamespace(isDefined=lambda: is_there, get=lambda: value, toString=lambda: text)

    def gpus(count):
        addresses = SimpleNamespace(size=lambda: count)
        return None if count is None else SimpleNamespace(availableAddrs=lambda: addresses)

    found = SimpleNamespace(get=lambda name: some(gpus(free.get(name))))
    backend = SimpleNamespace(
        getExecutorAvailableCpus=lambda name: some(1),
        getExecutorResourceProfileId=lambda name: DEFAULT,
        getExecutorAvailableResources=lambda name: found,
    )
    taken = {"gpu": SimpleNamespace(amount=lambda: amount)}
    profiles = SimpleNamespace(
        canBeScheduled=lambda task, own: may_run,
        resourceProfileFromId=lambda number: SimpleNamespace(taskResourcesJMap=lambda: taken),
    )
    context = SimpleNamespace(
        schedulerBackend=lambda: backend, resourceProfileManager=lambda: profiles
    )
    sc = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context), _conf={})
    assert is_full(sc, "1", 1) == (expected and may_run)


class Conf(dict):
    """Spark's settings."""

    set, remove = dict.__setitem__, dict.__delitem__


def test_the_wait_is_the_users_again_when_a_job_ends_as_its_tasks_are_released(monkeypatch):
    conf, ended = Conf(), Event()

    def reread():
        thread.start()
        ended.wait(1.0)

    def end():
        staying.__exit__(None, None, None)
        ended.set()

    revived, tasks = [], SimpleNamespace(recomputeLocality=reread)
    monkeypatch.setattr(lost_places, "task_sets", lambda *_: [tasks])
    backend = SimpleNamespace(reviveOffers=lambda: revived.append(conf.copy()))
    context = SimpleNamespace(conf=lambda: conf, schedulerBackend=lambda: backend)
    sc = SimpleNamespace(applicationId="a", _jsc=SimpleNamespace(sc=lambda: context))
    staying, thread = staying_with_data(sc), Thread(target=end)
    staying.__enter__()
    release_tasks(sc, [STUCK])
    assert ended.wait(20) and conf == {} and revived
