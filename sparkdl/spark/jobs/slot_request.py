"""Requests for task slots under dynamic allocation, where pending tasks make Spark add some."""

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
PATIENCE = 15.0  # seconds without a new executor, after which to stop waiting
ENDING = 15.0  # seconds; Spark kills the process of a cancelled task after about 4
POLL = 0.1
WISHING, RESTING = 60.0, 60.0  # seconds of a request, and of the pause before the next
LIMIT = 3600.0  # seconds after which a task of the request ends, even if the driver is gone


def request_slots(sc, count, resources=None):
    """Makes Spark start executors until `count` tasks can run at once, under dynamic allocation.

    A job with that many tasks waits until all fit, the session's maximum of executors is reached,
    or no further executor has come for PATIENCE.
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
    """Returns whether there are `count` slots, or the session allows no more executors."""
    return concurrent_tasks(sc, resources) >= count or not may_grow(sc)


def may_grow(sc):
    """Returns whether the session allows further executors."""
    return executors(sc) < int(option(sc, "spark.dynamicAllocation.maxExecutors", str(1 << 31)))


@contextmanager
def tasks_waiting(sc, count, resources):
    """Runs `count` idle tasks inside this context; gives their job tag. They have ended on exit."""
    tag = f"sparkdl-{uuid.uuid4().hex}"

    def run():
        add_tag(sc, tag)
        tasks = with_resources(sc.parallelize(range(count), count), resources)
        with suppress(Py4JError, PySparkException):  # the job is cancelled
            with describe_jobs(sc, f"a request for {count} slots"):
                tasks.foreach(wait)

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    try:
        yield tag
    finally:
        deadline = time.monotonic() + ENDING
        while (thread.is_alive() or count_tasks(sc, tag)) and time.monotonic() < deadline:
            cancel_tag(sc, tag)  # again, as its job may have begun only now
            time.sleep(POLL)


class SlotWish:
    """A request for more slots alongside a stage: Spark adds executors once the cluster has room.

    Idle tasks occupy the slots that come. Slots that cannot be used yet are released from time to
    time, for other jobs or for Spark to give them back.

    Parameters
    ----------
    sc : SparkContext
    count : int
        Slots besides those of the stage.
    resources : ResourceProfile or None
    has_begun : function
        Whether the stage's tasks run: before that the request would take their slots.
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
        """Ends the request's tasks, without waiting for them."""
        self._withdrawn.set()

    def wait(self):
        """Waits until the request's tasks are gone."""
        self._thread.join(2 * ENDING)


def wait(_):
    time.sleep(LIMIT)
