"""Watches of jobs: each cancels its own jobs alone, whatever other threads run."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark import InheritableThread

from sparkdl.errors import WorkerError
from sparkdl.spark import SparkNetwork, workers
from sparkdl.spark.jobs import job_watch
from sparkdl.spark.jobs.job_tags import job_ids, own_tags
from sparkdl.spark.jobs.job_watch import JobWatch, tag_jobs
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, plain
from tests.spark.slow import Slow
from tests.support.bus import told_all
from tests.support.waiting import until

LONG, SHORT = 200.0, 100.0  # seconds; they tell two fits apart


@dataclass(frozen=True)
class Gate(Slow):
    """Holds minibatches until it is opened."""

    def __call__(self, batch):
        super().__call__(batch)
        until(self._file.exists)
        return batch

    def open(self):
        self._file.touch()

    @property
    def _file(self):
        return Path(self.folder, "open")


class ShortEnds:
    """Ends the jobs of the fit whose `stall_timeout` is SHORT."""

    begin = 0.0

    def __init__(self, sc, description, limit, usual):
        self._limit = limit

    def look(self, jobs):
        return WorkerError("ended by a test") if jobs and self._limit == SHORT else None


def fit(sc, gate, limit):
    options = {"workers": 1, "prefetch": 0, "stall_timeout": limit}
    net = SparkNetwork(sc, plain(), ParameterAveraging(aggregation="driver", **options))
    return net.fit(arrays(20, transform=gate)).epochs[0].examples


def test_what_ends_a_fit_leaves_that_of_another_thread_alone(sc, tmp_path, monkeypatch):
    """Both run jobs of the same description at the same time."""
    monkeypatch.setattr(workers, "StalledTasks", ShortEnds)
    monkeypatch.setattr(job_watch, "POLL", 0.05)
    gates = [Gate(str(tmp_path / name)) for name in ("first", "second")]
    for gate in gates:
        Path(gate.folder).mkdir()
    trained = []
    first = InheritableThread(target=lambda: trained.append(fit(sc, gates[0], LONG)), daemon=True)
    first.start()
    until(gates[0].processes)
    with pytest.raises(WorkerError, match="^ended by a test$"):
        fit(sc, gates[1], SHORT)
    gates[0].open()
    first.join(60)
    assert trained == [20]


def test_a_job_that_spark_lists_late_is_cancelled_then(monkeypatch):
    """As a barrier stage that lacks slots."""
    job, cancelled, empty = SimpleNamespace(jobId=lambda: 7), [], [[], []]
    monkeypatch.setattr(job_watch, "POLL", 0.01)
    monkeypatch.setattr(job_watch, "jobs_tagged", lambda *_: empty.pop() if empty else [job])
    context = SimpleNamespace(cancelJob=cancelled.append)
    sc = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context))
    question = SimpleNamespace(begin=0.0, look=lambda jobs: WorkerError("few slots"))
    watch = JobWatch(sc, "tag", [question])
    assert until(lambda: watch.error, 20) and until(lambda: cancelled, 20)
    watch.close()
    assert set(cancelled) == {7}


@pytest.mark.parametrize("failures", [1, job_watch.LOOKS])
def test_a_question_is_dropped_after_three_failures_in_a_row(failures, monkeypatch):
    """One is no reason: Spark may just have forgotten a job that has ended."""

    def look(jobs):
        looks.append(jobs)
        if len(looks) <= failures:
            raise Py4JError("no such job")
        return WorkerError("few slots")

    looks = []
    monkeypatch.setattr(job_watch, "POLL", 0.01)
    monkeypatch.setattr(job_watch, "jobs_tagged", lambda *_: [])
    watch = JobWatch(None, "tag", [SimpleNamespace(begin=0.0, look=look)])
    if failures < job_watch.LOOKS:
        assert until(lambda: watch.error, 20)
    else:
        assert until(lambda: not watch._questions, 20)
        assert watch.error is None and len(looks) == failures
    watch.close()


def test_a_job_has_the_tag_of_its_innermost_watch_alone(sc):
    def run():
        sc.parallelize([1], 1).count()

    before = own_tags(sc)
    with tag_jobs(sc) as outer:
        run()
        with tag_jobs(sc) as inner:
            run()
            assert own_tags(sc) == before | {inner}
            assert len(job_ids(told_all(sc), inner)) == 1
        run()
        assert len(job_ids(told_all(sc), outer)) == 2
    assert own_tags(sc) == before
