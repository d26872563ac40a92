"""Python starts on the executors once per application, in a job with the caller's tags."""

import time
from types import SimpleNamespace

import pytest
from pyspark import SparkConf

from sparkdl.spark.jobs import process_start, python_start
from sparkdl.spark.jobs.job_tags import add_tag, job_ids, remove_tag
from sparkdl.spark.jobs.python_start import start_python
from sparkdl.spark.records.records import begin_reading

TAG = "test-python-start"


@pytest.fixture
def unknown(monkeypatch):
    """Makes every application look new."""
    monkeypatch.setattr(python_start, "_begun", set())


def ended(sc, jobs):
    """Waits for jobs to end; returns their states."""
    tracker, deadline = sc.statusTracker(), time.monotonic() + 60
    while time.monotonic() < deadline:
        states = [tracker.getJobInfo(job).status for job in jobs]
        if states and "RUNNING" not in states:
            return states
        time.sleep(0.05)
    raise AssertionError(f"{jobs} still run")


def test_it_is_done_once(sc, unknown):
    add_tag(sc, TAG)
    try:
        start_python(sc, begin_reading)
        deadline = time.monotonic() + 60
        while not (jobs := job_ids(sc, TAG)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ended(sc, jobs) == ["SUCCEEDED"]
        start_python(sc, begin_reading)
        time.sleep(0.5)
        assert job_ids(sc, TAG) == jobs
    finally:
        remove_tag(sc, TAG)


@pytest.mark.parametrize("reuse", ["true", "True", "false"])
def test_nothing_is_raised_and_nothing_begun_where_processes_are_not_used_again(reuse, unknown, sc):
    asked = []

    class Stopped(SimpleNamespace):
        @property
        def defaultParallelism(self):
            asked.append(True)
            raise AttributeError("a context that was stopped")

    conf = SparkConf(loadDefaults=False).set("spark.python.worker.reuse", reuse)
    start_python(Stopped(applicationId="one", _conf=conf), begin_reading)
    deadline = time.monotonic() + (60 if reuse != "false" else 0.2)
    while not asked and time.monotonic() < deadline:
        time.sleep(0.01)
    assert bool(asked) == (reuse != "false")


def test_the_seconds_of_the_start_are_told_once_by_who_reads(monkeypatch):
    for name in ("_asked", "_noted"):
        monkeypatch.setattr(process_start, name, [])
    monkeypatch.setattr(process_start, "age", iter((1.5, 9.0)).__next__)
    assert list(begin_reading(iter([7]))) == [7]
    assert [process_start.seconds_to_start() for _ in range(2)] == [1.5, 0.0]
    process_start.note_start()
    assert process_start.seconds_to_start() == 0.0
