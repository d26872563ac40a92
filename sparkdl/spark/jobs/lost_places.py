"""Tasks that stay with an executor's data go elsewhere once that executor is lost.

Spark waits for an executor that is gone for as long as for one that is busy, if a task of the same
stage had its place on another one that lives (TaskSetManager looks whether any of them does).
"""

import time

from sparkdl.spark.jobs.slots import known_executors, value_of

EXECUTOR_WAIT = "spark.locality.wait.process"  # how long a task waits for an executor's slot
NOBODY = "sparkdl: no executor"  # a name that none has


class LostPlaces:
    """Has the tasks of a job run anywhere where none runs, and an executor was lost meanwhile."""

    begin = 3.0  # seconds

    def __init__(self, sc):
        self._sc, self._start = sc, time.time()

    def look(self, jobs):
        """Asks Spark for other places; it has no error to give."""
        if jobs and not any(job.numActiveTasks() for job in jobs) and self._has_lost():
            release_tasks(self._sc)

    def _has_lost(self):
        ends = [value_of(each.removeTime()) for each in known_executors(self._sc)]
        return any(end is not None and end.getTime() / 1000 > self._start for end in ends)


def release_tasks(sc):
    """Has tasks that wait for an executor's slot run anywhere, those of other jobs among them.

    Spark reads how long they wait when it hears of an executor. It does, and does no more, where it
    is told that one it does not know will be decommissioned.
    """
    conf = sc._jsc.sc().conf()
    wait = conf.get(EXECUTOR_WAIT, None)
    nowhere = getattr(sc._jvm, "scala.None$").__getattr__("MODULE$")
    news = sc._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(NOBODY, nowhere)
    conf.set(EXECUTOR_WAIT, "0")
    try:
        sc._jsc.sc().taskScheduler().executorDecommission(NOBODY, news)
    finally:
        conf.remove(EXECUTOR_WAIT) if wait is None else conf.set(EXECUTOR_WAIT, wait)
