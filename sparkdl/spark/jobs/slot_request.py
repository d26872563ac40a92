"""Requests for slots, where Spark decides by the tasks that wait how many executors there are."""

import logging
import time
import uuid
from contextlib import contextmanager, suppress
from threading import Event

from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from sparkdl.spark.jobs.job import describe_jobs
from sparkdl.spark.jobs.job_tags import add_tag, cancel_tag, count_tasks
from sparkdl.spark.jobs.slots import concurrent_tasks, dynamic, executors, option
from sparkdl.spark.jobs.task_resources import with_resources

log = logging.getLogger(__name__)
PATIENCE = 15.0  # seconds in which no executor has come, after which no more are waited for
ENDING = 15.0  # seconds: Spark kills the process of a cancelled task after some 4
POLL = 0.1
WISHING, RESTING = 60.0, 60.0  # seconds of a wish, and from one to the next
LIMIT = 3600.0  # seconds after which a task of the request ends, whatever becomes of the driver


def request_slots(sc, count, resources=None):
    """Has Spark start executors until so many tasks run at once, if its allocation is dynamic.

    A job of so many tasks waits until there is room for all, the most executors that the session
    allows are there, or no other one has come for PATIENCE.
    """
    if not dynamic(sc) or has_room(sc, count, resources):
        return
    log.info("asks Spark for executors with %d slots", count)
    with tasks_waiting(sc, count, resources):
        known, since = concurrent_tasks(sc, resources), time.monotonic()
        while not has_room(sc, count, resources) and time.monotonic() - since < PATIENCE:
            time.sleep(POLL)
            if concurrent_tasks(sc, resources) > known:
                known, since = concurrent_tasks(sc, resources), time.monotonic()


def has_room(sc, count, resources):
    """Returns whether there are so many slots, or the session allows no more executors."""
    return concurrent_tasks(sc, resources) >= count or not may_grow(sc)


def may_grow(sc):
    """Returns whether the session allows more executors than there are."""
    return executors(sc) < int(option(sc, "spark.dynamicAllocation.maxExecutors", str(1 << 31)))


@contextmanager
def tasks_waiting(sc, count, resources):
    """Has so many tasks do nothing inside, of jobs with the tag it gives; they are gone then."""
    tag = f"sparkdl-{uuid.uuid4().hex}"

    def run():
        add_tag(sc, tag)
        tasks = with_resources(sc.parallelize(range(count), count), resources)
        with suppress(Py4JError, PySparkException):  # it is cancelled
            with describe_jobs(sc, f"a request for {count} slots"):
                tasks.foreach(wait)

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    try:
        yield tag
    finally:
        deadline = time.monotonic() + ENDING
        while (thread.is_alive() or count_tasks(sc, tag)) and time.monotonic() < deadline:
            cancel_tag(sc, tag)  # again, as its job may only now begin
            time.sleep(POLL)


class SlotWish:
    """A request for more slots beside a stage: Spark starts executors when the cluster has room.

    Its tasks do nothing in the slots that come. Those that have come and are still of no use are
    free now and then: for other jobs, or for Spark to give them back.

    Parameters
    ----------
    sc : SparkContext
    count : int
        Slots besides those of the stage.
    resources : ResourceProfile or None
    has_begun : function
        Whether the stage's tasks run: before that they would lose their slots to these.
    """

    def __init__(self, sc, count, resources, has_begun):
        self._withdrawn = Event()
        arguments = sc, count, resources, has_begun
        self._thread = InheritableThread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def _run(self, sc, count, resources, has_begun):
        with suppress(Py4JError, AttributeError):  # Spark itself has been stopped
            while not has_begun():
                if self._withdrawn.wait(POLL):
                    return
            while not self._withdrawn.is_set():
                if may_grow(sc):
                    with tasks_waiting(sc, count, resources) as tag:
                        while not self._withdrawn.wait(WISHING) and not count_tasks(sc, tag):
                            pass
                self._withdrawn.wait(RESTING)

    def withdraw(self):
        """Has its tasks end; waits for nothing."""
        self._withdrawn.set()

    def wait(self):
        """Waits until its tasks are gone."""
        self._thread.join(2 * ENDING)


def wait(_):
    time.sleep(LIMIT)
