"""A cluster whose slots another job holds, and jobs that soon say so."""

import time
from contextlib import contextmanager, nullcontext
from threading import Event

from pyspark import InheritableThread

from sparkdl.spark.jobs import job_tags, job_watch, slots, waiting
from sparkdl.spark.jobs.job import describe_jobs
from tests.support.waiting import until

HELD = "held by a test"  # tag of the job


@contextmanager
def impatient_jobs(sc, monkeypatch):
    """Makes jobs soon say that they wait; gives a function that sets for how long they may."""
    monkeypatch.setattr(waiting, "PATIENCE", 0.2)
    monkeypatch.setattr(job_watch, "POLL", 0.05)

    def limit(text):
        sc._conf.set(waiting.SETTING, text)

    limit("100s")
    try:
        yield limit
    finally:
        sc._conf.set(waiting.SETTING, waiting.DEFAULT)


@contextmanager
def held_slots(sc, count=2, description=None):
    """Occupies slots of the cluster with another job, one of ours if it has a description."""

    def hold():
        job_tags.add_tag(sc, HELD)
        try:
            with nullcontext() if description is None else describe_jobs(sc, description):
                sc.parallelize(range(count), count).foreach(lambda _: time.sleep(200))
        except Exception:
            pass  # cancelled
        finally:
            ended.set()

    ended = Event()
    InheritableThread(target=hold, daemon=True).start()
    try:
        # Spark updates its counts per stage and per executor separately.
        assert until(lambda: job_tags.count_tasks(sc, HELD) == count <= slots.active_tasks(sc), 60)
        yield
    finally:
        while not ended.wait(0.1):
            job_tags.cancel_tag(sc, HELD)
        assert until(lambda: slots.active_tasks(sc) == 0, 60)
