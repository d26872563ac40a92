"""Jobs that get no slot: their messages and how they end."""

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from pyspark import InheritableThread

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.spark.jobs import job_tags, job_watch, slots, waiting
from sparkdl.spark.jobs.job import job
from tests.support.waiting import until

HELD = "held by a test"


@pytest.fixture
def impatient(sc, monkeypatch):
    """Returns a function that sets how long jobs wait for slots; it starts at 100 s."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.2)
    monkeypatch.setattr(job_watch, "POLL", 0.05)

    def limit(text):
        sc._conf.set(waiting.SETTING, text)

    limit("100s")
    yield limit
    sc._conf.set(waiting.SETTING, waiting.DEFAULT)


@contextmanager
def all_slots_held(sc):
    """Occupies all slots of the cluster with another job."""

    def hold():
        job_tags.add_tag(sc, HELD)
        try:
            sc.parallelize([0, 0], 2).foreach(lambda _: time.sleep(200))
        except Exception:
            ended.set()

    ended = threading.Event()
    InheritableThread(target=hold, daemon=True).start()
    # Spark updates its counts per stage and per executor separately.
    assert until(lambda: job_tags.count_tasks(sc, HELD) == 2 <= slots.active_tasks(sc), 60)
    try:
        yield
    finally:
        while not ended.wait(0.1):
            job_tags.cancel_tag(sc, HELD)
        assert until(lambda: slots.active_tasks(sc) == 0, 60)


def count(sc):
    with job(sc, "records to blocks", "reading the data"):
        return sc.parallelize([1, 2, 3], 2).count()


def test_a_job_without_slots_says_so_and_ends(sc, impatient, caplog):
    with all_slots_held(sc):
        impatient("1s")
        with pytest.raises(
            UnsupportedError, match=r"'records to blocks' has started within \d+ s"
        ) as error:
            count(sc)
        for said in (str(error.value), caplog.text):
            assert "2 slots, of which 2 are taken; 2 executors of 2" in said
            assert "other jobs hold all slots: end them, add executors, or raise" in said
    assert caplog.text.count("no task of") == 1
    assert count(sc) == 3


def test_a_job_that_gets_its_slots_goes_on(sc, impatient, caplog):
    counted = []
    with all_slots_held(sc):
        late = InheritableThread(target=lambda: counted.append(count(sc)), daemon=True)
        late.start()
        assert until(lambda: "no task of 'records to blocks' has started" in caplog.text, 60)
    late.join(60)
    assert counted == [3]


@pytest.mark.parametrize(
    ("running", "is_one", "told"),
    [
        ([[0], [0], [0]], False, True),
        ([[0], [1], [0]], False, False),
        ([[0], [], [0]], False, False),  # the driver computes between two jobs
        ([[], [], []], False, False),
        ([[], [], []], True, True),  # a barrier stage that lacks slots
        ([[], [1], []], True, False),
        ([[0, 1], [0, 1], [0, 1]], False, False),  # jobs with one description take turns
    ],
)
def test_only_time_without_a_task_counts(running, is_one, told, monkeypatch):
    clock = iter(range(0, 100, 10))
    wait = waiting.SlotWait.__new__(waiting.SlotWait)
    wait._sc, wait._description, wait._limit = None, "a job", 100.0
    wait._since, wait._is_told, wait._is_one = 0.0, False, is_one
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(waiting, "cluster_state", lambda sc: "")
    monkeypatch.setattr(waiting, "cure", lambda sc: "")
    monkeypatch.setattr(waiting, "runs_task", lambda sc, jobs: False)
    for tasks in running:
        jobs = [SimpleNamespace(numActiveTasks=lambda count=count: count) for count in tasks]
        assert wait.look(jobs) is None
    assert wait._is_told == told


def test_a_task_that_spark_has_not_told_of_counts(sc, impatient):
    """Spark's job data may lag behind by the executors' heartbeat interval."""
    with all_slots_held(sc):
        [held] = job_watch.running_jobs(sc)
        stale = SimpleNamespace(numActiveTasks=lambda: 0, stageIds=held.stageIds)
        wait = waiting.SlotWait(sc, "a job")
        wait._since -= 1000.0
        assert wait.look([stale]) is None
        names = [name for name, _ in slots.live_executors(sc)]
        assert slots.running_tasks(sc, names) == dict.fromkeys(names, 1)
    wait._since -= 1000.0
    assert isinstance(wait.look([stale]), UnsupportedError)
    assert slots.running_tasks(sc, names) == dict.fromkeys(names, 0)


def test_a_time_that_is_none_is_refused(sc, impatient):
    impatient("soon")
    with pytest.raises(ConfigError, match="spark.sparkdl.slotTimeout must be a time .* got soon"):
        count(sc)


@pytest.mark.parametrize(
    ("slot_count", "taken", "says"),
    [(0, 0, "no executor has started"), (2, 2, "hold all slots"), (4, 1, "spark.driver.memory")],
)
def test_the_cure_fits_what_there_is(slot_count, taken, says, monkeypatch):
    monkeypatch.setattr(waiting, "concurrent_tasks", lambda sc: slot_count)
    monkeypatch.setattr(waiting, "active_tasks", lambda sc: taken)
    assert says in waiting.cure(None)
