"""Ends a task that keeps the others of its job waiting, so that Spark runs it again.

Spark waits without an end for a process that is stopped or hangs while its executor answers.
"""

import logging
import time
from contextlib import contextmanager, suppress
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.errors import WorkerError
from sparkdl.spark.jobs.waiting import jobs_described, plain

log = logging.getLogger(__name__)
POLL = 1.0
SLOWER = 10  # times as long as an earlier round: where no task has ended, one may just be long
MOST_ENDED = 3  # tasks of one job
MOST_TASKS = 10000  # that are looked at
GRACE = 30.0  # seconds that Spark may take to end one


@contextmanager
def watch_tasks(sc, description, limit, usual=None):
    """Has Spark run tasks again that still run when no other has ended for so long.

    Parameters
    ----------
    description : str
        By which Spark knows the job.
    limit : float or None
        Seconds; None: there is none.
    usual : float, optional
        Seconds that such a job takes. Tasks of which none has ended are left alone where it is not
        known, as all of them may need longer than `limit`.

    Raises
    ------
    WorkerError
        MOST_ENDED tasks of the job were ended, and one stalls again; or one cannot be ended.
    """
    if limit is None:
        yield
        return
    watch = TaskWatch(sc, description, limit, usual)
    try:
        yield
    except Exception as error:
        if watch.error is not None:
            raise watch.error from error
        raise
    finally:
        watch.close()


class TaskWatch:
    """A thread that looks at the tasks of a job; `error` says why it cancelled it, or is None."""

    def __init__(self, sc, description, limit, usual):
        self._sc, self._description, self._limit, self._usual = sc, description, limit, usual
        self._since, self._seen, self._ended = time.monotonic(), None, set()
        self.error, self._closed, self._is_told = None, Event(), False
        Thread(target=self._run, daemon=True).start()

    def close(self):
        self._closed.set()

    def _run(self):
        if self._closed.wait(self._limit / 2):  # as most jobs end by then
            return
        with suppress(Py4JError, PySparkException, AttributeError):  # Spark itself has been stopped
            while self.error is None and not self._closed.wait(POLL):
                self._look()

    def _look(self):
        stages, now = running_stages(self._sc, self._description), time.monotonic()
        seen = [progress(stage) for stage in stages]
        if seen != self._seen or not any(stage.numActiveTasks() for stage in stages):
            self._seen, self._since = seen, now
        waited = now - self._since
        if waited < self._limit:
            return
        if not self._may_end(stages, waited):
            if not self._is_told:
                log.warning("no task of %s: %s", self._late(waited), places(self._sc, stages))
            self._is_told = True
        else:
            self._end_tasks(stages, waited)

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
            self._give_up(stages, waited)

    def _end(self, task, waited):
        log.warning("%s: no other task of %s; it runs again", place(task), self._late(waited))
        self._ended.add(task.taskId())
        self._sc._jsc.sc().killTaskAttempt(task.taskId(), True, "sparkdl: it has stalled")

    def _give_up(self, stages, waited):
        self.error = WorkerError(
            f"{places(self._sc, stages)}: no other task of {self._late(waited)}, and "
            f"{len(self._ended)} before it were ended for that; see why processes stop there, or "
            "raise the master's stall_timeout"
        )
        for job in jobs_described(self._sc, self._description):
            self._sc._jsc.sc().cancelJob(job.jobId())

    def _late(self, seconds):
        return f"{plain(self._description)!r} has ended for {seconds:.0f} s"


def running_stages(sc, description):
    """Returns Spark's data of the running stages of jobs with a description."""
    of_jobs = set()
    for job in jobs_described(sc, description):
        stages = job.stageIds()
        of_jobs |= {stages.apply(number) for number in range(stages.size())}
    found = sc._jsc.sc().statusStore().activeStages()
    stages = [found.apply(number) for number in range(found.size())]
    return [stage for stage in stages if stage.stageId() in of_jobs]


def progress(stage):
    """Returns figures of a stage that change where a task begins or ends."""
    counts = stage.numCompleteTasks(), stage.numFailedTasks(), stage.numKilledTasks()
    return stage.stageId(), stage.attemptId(), stage.numActiveTasks(), *counts


def running_tasks(sc, stages):
    """Returns Spark's data of the running tasks of stages."""
    store, running = sc._jsc.sc().statusStore(), []
    for stage in stages:
        found = store.taskList(stage.stageId(), stage.attemptId(), MOST_TASKS)
        tasks = [found.apply(number) for number in range(found.size())]
        running += [task for task in tasks if task.status() == "RUNNING"]
    return running


def places(sc, stages):
    return ", ".join(place(task) for task in running_tasks(sc, stages)) or "no task"


def place(task):
    """Returns which task runs where, for messages."""
    return f"task {task.index()} on {task.host()} (executor {task.executorId()})"
