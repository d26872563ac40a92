"""Restart of tasks that stall and keep the rest of their job waiting.

Spark waits indefinitely for a Python process that is stopped or hangs while its executor responds.
"""

import logging
import time

from sparkdl.errors import WorkerError
from sparkdl.spark.jobs.slots import elements
from sparkdl.spark.jobs.stage_failure import tasks_of

log = logging.getLogger(__name__)
SLOWER = 10  # times an earlier round: if no task has ended yet, tasks may just take long
MOST_ENDED = 3  # killed tasks per job
GRACE = 30.0  # seconds that Spark may take to end a task


class StalledTasks:
    """Makes Spark rerun tasks that still run when no other task has ended for `limit` seconds.

    Parameters
    ----------
    description : str
        Of the job, for messages.
    limit : float
        Seconds.
    usual : float, optional
        Usual seconds of such a job. If unknown, nothing is killed before the first task has ended,
        as all tasks may need longer than `limit`.
    """

    def __init__(self, sc, description, limit, usual=None):
        self._sc, self._description, self._limit, self._usual = sc, description, limit, usual
        self._since, self._seen, self._ended = time.monotonic(), None, set()
        self._is_told, self.begin = False, limit / 2

    def look(self, jobs):
        """Returns a WorkerError if a task stalls after MOST_ENDED kills, or cannot be killed."""
        stages, now = running_stages(self._sc, jobs), time.monotonic()
        seen = [progress(stage) for stage in stages]
        if seen != self._seen or not any(stage.numActiveTasks() for stage in stages):
            self._seen, self._since = seen, now
        waited = now - self._since
        if waited < self._limit:
            return None
        if self._may_end(stages, waited):
            return self._end_tasks(stages, waited)
        if not self._is_told:
            log.warning("no task of %s: %s", self._late(waited), places(self._sc, stages))
        self._is_told = True
        return None

    def _may_end(self, stages, waited):
        if any(stage.numCompleteTasks() for stage in stages):
            return True
        return self._usual is not None and waited > SLOWER * self._usual

    def _end_tasks(self, stages, waited):
        stalled = [
            task for task in running_tasks(self._sc, stages) if task.taskId() not in self._ended
        ]
        if stalled and len(self._ended) < MOST_ENDED:
            for task in stalled:
                self._end(task, waited)
        elif stalled or waited > self._limit + GRACE:
            return self._last_error(stages, waited)
        return None

    def _end(self, task, waited):
        log.warning(
            "%s: no other task of %s; it is killed and runs again", place(task), self._late(waited)
        )
        self._ended.add(task.taskId())
        self._sc._jsc.sc().killTaskAttempt(task.taskId(), True, "sparkdl: it has stalled")

    def _last_error(self, stages, waited):
        return WorkerError(
            f"{places(self._sc, stages)}: no other task of {self._late(waited)}, and "
            f"{len(self._ended)} before it were killed for that; find out why processes hang "
            "there, or raise the master's stall_timeout"
        )

    def _late(self, seconds):
        return f"{self._description!r} has ended for {seconds:.0f} s"


def running_stages(sc, jobs):
    """Returns Spark's data about the running stages of jobs."""
    of_jobs = {stage for job in jobs for stage in elements(job.stageIds())}
    stages = elements(sc._jsc.sc().statusStore().activeStages())
    return [stage for stage in stages if stage.stageId() in of_jobs]


def progress(stage):
    """Returns figures of a stage that change whenever a task begins or ends."""
    counts = stage.numCompleteTasks(), stage.numFailedTasks(), stage.numKilledTasks()
    return stage.stageId(), stage.attemptId(), stage.numActiveTasks(), *counts


def running_tasks(sc, stages):
    """Returns Spark's data about the running tasks of stages."""
    tasks = [task for one in stages for task in tasks_of(sc, one.stageId(), one.attemptId())]
    return [task for task in tasks if task.status() == "RUNNING"]


def places(sc, stages):
    return ", ".join(place(task) for task in running_tasks(sc, stages)) or "no task"


def place(task):
    """Describes a task and where it runs, for messages."""
    return f"task {task.index()} on {task.host()} (executor {task.executorId()})"
