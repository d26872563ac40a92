"""Says what a job waits for while none of its tasks runs, and ends one that waits too long.

Spark waits without an end and without a word: for executors that never come or die at start, for
slots that other jobs hold, for a launch of tasks that its driver had no memory for.
"""

import logging
import time
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.spark.jobs.page_link import LINK
from sparkdl.spark.jobs.slots import (
    active_tasks,
    concurrent_tasks,
    describe_executors,
    lost_executors,
    option,
    value_of,
)

log = logging.getLogger(__name__)
SETTING = "spark.sparkdl.slotTimeout"
DEFAULT = "8m"  # less than a master's stall_timeout, whose error could name no cause
PATIENCE = 15.0  # seconds until it is said
POLL = 1.0
MIB = 1 << 20


@contextmanager
def watch_job(sc, description):
    """Warns where the job run inside has no running task for PATIENCE, and ends it after SETTING.

    Parameters
    ----------
    description : str
        By which Spark knows the job.

    Raises
    ------
    UnsupportedError
        The cluster had no slot for it in all the time.
    """
    watch = Watch(sc, description)
    try:
        yield
    except Exception as error:
        if watch.error is not None:
            raise watch.error from error
        raise
    finally:
        watch.close()


class Watch:
    """A thread that looks at a job; `error` says why it has cancelled it, or is None."""

    def __init__(self, sc, description):
        self._sc, self._description = sc, description
        self._limit, self._since = time_limit(sc), time.monotonic()
        self.error, self._closed, self._is_told = None, Event(), False
        Thread(target=self._run, daemon=True).start()

    def close(self):
        self._closed.set()

    def _run(self):
        if self._closed.wait(min(PATIENCE, self._limit) / 2):  # as most jobs end by then
            return
        with suppress(Py4JError, PySparkException, AttributeError):  # Spark itself has been stopped
            while self.error is None and not self._closed.wait(POLL):
                self._look()

    def _look(self):
        jobs, now = jobs_described(self._sc, self._description), time.monotonic()
        if not jobs or sum(job.numActiveTasks() for job in jobs):
            self._since = now
        waited = now - self._since
        if waited >= self._limit:
            self.error = UnsupportedError(f"{self._wait(waited)}; {cure(self._sc)}")
            for job in jobs:
                self._sc._jsc.sc().cancelJob(job.jobId())
        elif waited >= PATIENCE and not self._is_told:
            self._is_told = True
            log.warning("%s; %s", self._wait(waited), cure(self._sc))

    def _wait(self, seconds):
        name = plain(self._description)
        return f"no task of {name!r} has run for {seconds:.0f} s: {cluster_state(self._sc)}"


def plain(description):
    """Returns the description of a job as messages have it."""
    return description.removeprefix("sparkdl: ").removesuffix(LINK)


def jobs_described(sc, description):
    """Returns Spark's data of the running jobs with a description."""
    return [job for job in running_jobs(sc) if value_of(job.description()) == description]


def running_jobs(sc):
    """Returns Spark's data of the jobs that run."""
    statuses = sc._jvm.java.util.Collections.singletonList(
        sc._jvm.org.apache.spark.JobExecutionStatus.RUNNING
    )
    found = sc._jsc.sc().statusStore().jobsList(statuses)
    return [found.apply(number) for number in range(found.size())]


def time_limit(sc):
    """Returns for how many seconds a job may wait for its first slot."""
    return parse_seconds(sc, option(sc, SETTING, DEFAULT))


@lru_cache(maxsize=1)  # it takes six calls of the JVM, and there is a job for each round
def parse_seconds(sc, text):
    """Returns the seconds of a time as Spark writes it."""
    try:
        return sc._jvm.org.apache.spark.network.util.JavaUtils.timeStringAsSec(text)
    except (Py4JError, PySparkException) as error:
        raise ConfigError(f"{SETTING} must be a time such as 8m or 30s, got {text}") from error


def cluster_state(sc):
    """Returns what there is of slots, executors and the driver's memory, in a line."""
    lost = lost_executors(sc)
    gone = f", {len(lost)} lost, the last for {lost[-1]!r}" if lost else ""
    count = concurrent_tasks(sc)
    taken = min(active_tasks(sc), count)  # Spark may know of a task's start before the last's end
    return (
        f"the cluster has {count} slots, of which {taken} are taken; "
        f"{describe_executors(sc)}{gone}; {free_heap(sc)}"
    )


def free_heap(sc):
    runtime = sc._jvm.java.lang.Runtime.getRuntime()
    most = runtime.maxMemory()
    free = most - runtime.totalMemory() + runtime.freeMemory()
    return f"{free // MIB} of {most // MIB} MB are free on the driver's heap"


def cure(sc):
    """Returns what helps against what `cluster_state` says."""
    slots = concurrent_tasks(sc)
    if not slots:
        return (
            "no executor has come or stayed: see whether the cluster has workers with so much free "
            "memory (spark.executor.memory), cores and resources, and the executors' stderr"
        )
    if active_tasks(sc) >= slots:
        return f"other jobs hold all slots: end them, add executors, or raise {SETTING}"
    return (
        "slots are free, but not as many as this needs at once, or on other executors; or the "
        "driver lost the launch of its tasks for want of memory: raise spark.driver.memory"
    )
