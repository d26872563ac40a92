"""Release of tasks bound to the data of an executor that is lost or about to leave.

Spark waits for a lost executor as long as for a busy one if any task of the same stage is bound to
an executor that lives (TaskSetManager checks whether any of them does).
"""

import time

from sparkdl.spark.jobs.held_settings import context_setting, override_setting
from sparkdl.spark.jobs.slots import (
    known_executors,
    leaving_executors,
    running_tasks,
    runs_task,
    value_of,
)

EXECUTOR_WAIT = "spark.locality.wait.process"  # how long a task waits for an executor's slot
NOBODY = "sparkdl: no executor"  # a name that no executor has
STILL = 5.0  # seconds without a task


class LostPlaces:
    """Lets a job's tasks run anywhere if none is running and they wait for no live executor."""

    begin = 3.0  # seconds

    def __init__(self, sc):
        self._sc, self._start = sc, time.time()
        self._seen, self._since = None, time.monotonic()

    def look(self, jobs):
        """Releases waiting tasks if needed; never returns an error."""
        seen, now = [progress(job) for job in jobs], time.monotonic()
        is_still = jobs and seen == self._seen and not runs_task(self._sc, jobs)
        if not is_still or not self._waits_in_vain():
            self._seen, self._since = seen, now
        elif now - self._since >= STILL:
            release_tasks(self._sc)

    def _waits_in_vain(self):
        """Returns whether no remaining executor is so busy that tasks should wait for it.

        If executors run other tasks, this also requires that one was lost or will leave: tasks that
        use more of an executor than Spark's data show may have filled it.
        """
        known, leaving = known_executors(self._sc), leaving_executors(self._sc)
        gone = {*leaving, "driver"}
        room = {
            one.id(): one.maxTasks() for one in known if one.isActive() and one.id() not in gone
        }
        tasks = running_tasks(self._sc, room)
        if not any(tasks.values()):
            return True
        is_lost = leaving or any(map(self._was_lost, known))
        return bool(is_lost) and all(tasks[name] < room[name] for name in room)

    def _was_lost(self, executor):
        """Returns whether an executor was lost since the job began."""
        end = value_of(executor.removeTime())
        return end is not None and end.getTime() / 1000 > self._start


def progress(job):
    """Returns figures of a job that change whenever one of its tasks or stages ends."""
    counts = job.numCompletedTasks(), job.numFailedTasks(), job.numKilledTasks()
    return job.jobId(), job.numCompletedStages(), *counts


def release_tasks(sc):
    """Lets tasks that wait for an executor's slot run anywhere, including those of other jobs.

    Spark rereads the locality wait whenever it is told about an executor. Announcing the
    decommission of an unknown executor triggers just that.
    """
    nowhere = getattr(sc._jvm, "scala.None$").__getattr__("MODULE$")
    news = sc._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(NOBODY, nowhere)
    with override_setting("0", *context_setting(sc, EXECUTOR_WAIT)):
        sc._jsc.sc().taskScheduler().executorDecommission(NOBODY, news)
