"""Diagnosis of jobs that wait without running tasks; ends those that wait too long.

Spark waits indefinitely and silently: for executors that never come or die at start, for slots
held by other jobs, or for tasks whose launch failed for lack of driver memory.
"""

import logging
import time
from functools import lru_cache

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.errors import ConfigError, NoSlots, WorkerError, count_of
from sparkdl.spark.jobs.job_tags import job_tags
from sparkdl.spark.jobs.job_watch import running_jobs
from sparkdl.spark.jobs.one_call import call_tags
from sparkdl.spark.jobs.page_link import LINK
from sparkdl.spark.jobs.slots import (
    EXECUTOR_TIMEOUT,
    active_tasks,
    concurrent_tasks,
    describe_executors,
    executors,
    executors_wanted,
    lost_executors,
    option,
    runs_task,
    value_of,
)

log = logging.getLogger(__name__)
BEFORE = "sparkdl: "  # on Spark's pages
SETTING = "spark.sparkdl.slotTimeout"
DEFAULT = "8m"  # less than a master's stall_timeout, whose error could not name the cause
PATIENCE = 15.0  # seconds until the wait is logged
TURNS = 8  # times within the limit, at least, that a job looks whether another of ours runs
MIB = 1 << 20


class SlotWait:
    """Warns if a job has no running task for PATIENCE; returns an error after SETTING.

    The time that a job of another of our calls runs does not count: a fit awaits its turn, and logs
    for which job. It does count for a call of which another job runs, as an evaluation by a fit's
    listener: two such calls might await each other.

    Parameters
    ----------
    description : str
        Of the job, for messages.
    is_one : bool
        Whether there is one job and the driver does nothing else. Then it counts as waiting even
        before Spark lists it: a barrier stage does not begin until it has all its slots.
    takes_turns : bool
        Whether it may also wait for jobs of its own call, as a trial does for others of its search.
        This is not logged.

    Attributes
    ----------
    is_queued : bool
        Whether it waited for another job of ours when last asked.
    """

    def __init__(self, sc, description, is_one=False, takes_turns=False):
        self._sc, self._description, self._is_one = sc, description, is_one
        self._takes_turns = takes_turns
        self._own_tags = call_tags(sc)
        self._limit, self._since = time_limit(sc), time.monotonic()
        self._is_told = self._is_queue_told = self.is_queued = False
        self._turn = self._since  # when a task of any job of ours was last known to run
        self.begin = min(PATIENCE, self._limit) / 2

    def look(self, jobs):
        """Returns a NoSlots error if the job has had no slot for the whole time limit."""
        now = time.monotonic()
        if sum(job.numActiveTasks() for job in jobs) or not (jobs or self._is_one):
            self._since = now
        waited = now - self._since
        if waited >= min(PATIENCE, self._limit) and runs_task(self._sc, jobs):
            self._since, waited = now, 0.0
        self._turn = max(self._turn, self._since)
        if now - self._turn >= min(PATIENCE, self._limit / TURNS):
            self._await_turn(now)
        elif not waited:
            self.is_queued = False
        if now - self._turn >= self._limit:
            return NoSlots(f"{self._wait(waited)}; {cure(self._sc)}")
        if now - self._turn >= PATIENCE and not self._is_told:
            self._is_told = True
            log.warning("%s; %s", self._wait(waited), cure(self._sc))
        return None

    def _await_turn(self, now):
        other = self._awaited_job()
        self.is_queued = other is not None
        if self.is_queued:
            self._turn = now
        if self.is_queued and not (self._is_queue_told or self._takes_turns):
            self._is_queue_told = True
            log.warning("%r waits for slots until %s has ended", self._description, describe(other))

    def _awaited_job(self):
        """Returns a running job of another of our calls, or None if this job must not wait."""
        if self._takes_turns:
            return next(iter(our_running_jobs(self._sc)), None)
        jobs = list(our_running_jobs(self._sc)) if self._own_tags else []
        is_its_own = any(self._own_tags & job_tags(job) for job in jobs)
        return jobs[0] if jobs and not is_its_own else None

    def _wait(self, seconds):
        state = cluster_state(self._sc)
        return f"no task of {self._description!r} has started within {seconds:.0f} s: {state}"


class FewerSlots:
    """Returns a WorkerError if a stage that needs all its slots at once cannot begin any more.

    Executors were lost after its slots were counted: after PATIENCE, or EXECUTOR_TIMEOUT if others
    may replace them, its workers should take the slots that are left. Without any they wait, as all
    of them may come back; see SlotWait.

    Parameters
    ----------
    tasks : int
    resources : ResourceProfile or None
        Of the tasks.
    """

    def __init__(self, sc, tasks, resources=None):
        self._sc, self._tasks, self._resources = sc, tasks, resources
        self._since, self.begin = time.monotonic(), PATIENCE / 2

    def look(self, jobs):
        now = time.monotonic()
        if any(job.numActiveTasks() for job in jobs):  # from then on nothing else is asked
            self._since = now
            return None
        left = concurrent_tasks(self._sc, self._resources)
        if not 0 < left < self._tasks:
            self._since = now
        others_come = executors(self._sc) < executors_wanted(self._sc)
        patience = EXECUTOR_TIMEOUT if others_come else PATIENCE
        if now - self._since < patience or runs_task(self._sc, jobs):
            return None
        return WorkerError(
            f"the workers' {self._tasks} tasks had not begun when executors were lost: "
            f"{count_of(left, 'slot')} left"
        )


def our_running_jobs(sc):
    """Yields Spark's data about the jobs of ours that have a running task."""
    for job in running_jobs(sc):
        if title_of(job).startswith(BEFORE) and runs_task(sc, [job]):
            yield job


def describe(job):
    name = title_of(job).removeprefix(BEFORE).partition(LINK)[0]
    return f"job {job.jobId()} of this driver, {name!r},"


def title_of(job):
    return value_of(job.description()) or ""


def time_limit(sc):
    """Returns the seconds that a job may wait for its first slot."""
    return parse_seconds(sc, option(sc, SETTING, DEFAULT))


@lru_cache(maxsize=1)  # it takes six calls of the JVM, and each round is a job
def parse_seconds(sc, text):
    """Returns the seconds of a duration in Spark's notation."""
    try:
        return sc._jvm.org.apache.spark.network.util.JavaUtils.timeStringAsSec(text)
    except (Py4JError, PySparkException) as error:
        raise ConfigError(f"{SETTING} must be a time such as 8m or 30s, got {text}") from error


def cluster_state(sc):
    """Describes slots, executors and the driver's free memory, in one line."""
    lost = lost_executors(sc)
    gone = f", {len(lost)} lost, the last for {lost[-1]!r}" if lost else ""
    count = concurrent_tasks(sc)
    taken = min(active_tasks(sc), count)  # Spark may see a task start before the last one ends
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
    """Returns the remedy for the state that `cluster_state` describes."""
    slots = concurrent_tasks(sc)
    if not slots:
        return (
            "no executor has started and stayed alive: check whether the cluster has workers "
            "with enough free memory (spark.executor.memory), cores and resources, and the "
            "executors' stderr"
        )
    if active_tasks(sc) >= slots:
        return f"other jobs hold all slots: end them, add executors, or raise {SETTING}"
    return (
        "slots are free, but fewer than this job needs at once, or on other executors; or the "
        "driver failed to launch its tasks for lack of memory: raise spark.driver.memory"
    )
