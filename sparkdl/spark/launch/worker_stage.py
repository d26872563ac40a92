"""A Spark stage whose tasks are the workers of a fit, all running at once until it ends.

It is a barrier stage. Dynamic allocation does not support these, so an ordinary stage takes its
place: its tasks meet at the driver, and the loss of one ends them all.
"""

import logging
import time
import uuid
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark import BarrierTaskContext, InheritableThread, TaskContext
from pyspark.errors import PySparkException

from sparkdl.errors import WorkerError, count_of
from sparkdl.spark.gpu_process.dispatch import run_on_device
from sparkdl.spark.gpu_process.worker_processes import run_workers
from sparkdl.spark.jobs.command_size import check_command
from sparkdl.spark.jobs.error_notes import note_errors
from sparkdl.spark.jobs.job import describe_jobs, message, no_waiting_for_locality, watch
from sparkdl.spark.jobs.job_tags import add_tag, cancel_tag, count_tasks, job_ids
from sparkdl.spark.jobs.shared_value import SharedValue, sharing
from sparkdl.spark.jobs.slot_request import SlotWish
from sparkdl.spark.jobs.stage_failure import RESTARTED, failure, first_failure
from sparkdl.spark.jobs.task_resources import computing_with, with_resources
from sparkdl.spark.jobs.waiting import FewerSlots
from sparkdl.spark.launch.team import Team
from sparkdl.spark.launch.worker_training import train

log = logging.getLogger(__name__)
GRACE = 15.0  # seconds; Spark kills the process of a cancelled task after about 4
POLL = 0.05


class WorkerStage:
    """A stage of workers that runs alongside the driver's own work; see training's LaunchedWorkers.

    Parameters
    ----------
    sc : SparkContext
    task : function (shared, rank, blocks, validation)
        It may hold secrets, but nothing that grows with the data; see `check_command`.
    shares : RDD with a partition for each task, of items as `split_items` takes them
    shared : value given to all workers
    evaluates : bool
        Whether the items include validation data.
    each : StageSettings
    resources : ResourceProfile or None
        Executor resources of a task; None: those of the session's tasks.
    is_barrier : bool
        Whether Spark starts all tasks at once, and ends all when one is lost.
    missing : int
        Slots to request while the stage runs, over which its workers would spread.
    """

    def __init__(
        self,
        sc,
        task,
        shares,
        shared,
        evaluates,
        each,
        resources=None,
        is_barrier=True,
        missing=0,
    ):
        self._sc, self._tag = sc, f"sparkdl-{uuid.uuid4().hex}"
        self._error, self._done, self._is_barrier = None, False, is_barrier
        self._watch = None
        arguments = task, shares, shared, evaluates, each, resources
        self._thread = InheritableThread(target=self._run, args=arguments, daemon=True)
        self._thread.start()
        begun = partial(self._has_begun, each.team.tasks)
        self._wish = SlotWish(sc, missing, resources, begun) if missing else None

    def _has_begun(self, tasks):
        return count_tasks(self._sc, self._tag) >= tasks

    def error(self):
        """Returns why the stage has ended early, or must end, or None."""
        if self._error is None and self._watch is not None:
            self._error = self._watch.error
        if self._error is None and not self._is_barrier and self._thread.is_alive():
            with suppress(Py4JError, AttributeError):  # Spark itself has been stopped
                self._error = first_failure(self._sc, self._job_ids())
        return self._error

    def is_finished(self):
        """Returns whether all workers have ended successfully."""
        return self._done

    def is_queued(self):
        """Returns whether another job of this driver has the slots."""
        return self._watch is not None and self._watch.is_queued

    def stop(self):
        """Stops whatever still runs, and waits until it has ended."""
        if self._wish is None:
            self._stop()
            return
        self._wish.withdraw()
        try:
            self._stop()
        finally:
            self._wish.wait()

    def _stop(self):
        deadline = time.monotonic() + GRACE
        with suppress(Py4JError, AttributeError):  # Spark itself has been stopped
            while self._thread.is_alive() and time.monotonic() < deadline:
                cancel_tag(self._sc, self._tag)  # again, as its job may have begun only now
                self._thread.join(POLL)
            while (tasks := count_tasks(self._sc, self._tag)) and time.monotonic() < deadline:
                time.sleep(POLL)
            if tasks:
                late = count_of(tasks, "worker")
                log.warning("%s still running %g s after being cancelled", late, GRACE)

    def _run(self, task, shares, shared, evaluates, each, resources):
        try:
            add_tag(self._sc, self._tag)
            doing = f"{count_of(each.team.size, 'worker')} that train together"
            with sharing(self._sc, shared) as sent, sharing(self._sc, each.team) as team:
                run = partial(work, task, sent, evaluates, each._replace(team=team))
                parts = shares.barrier() if self._is_barrier else shares
                results = parts.mapPartitions(run)
                check_command(self._sc, results)
                with no_waiting_for_locality(self._sc), describe_jobs(self._sc, doing):
                    few = FewerSlots(self._sc, each.team.tasks, resources)
                    questions = [few] if self._is_barrier else []  # others may begin with fewer
                    with watch(self._sc, doing, *questions, is_one=True) as self._watch:
                        with_resources(results, resources).collect()
            self._done = True
        except (Py4JError, PySparkException) as error:
            known = None if self._is_barrier else first_failure(self._sc, self._job_ids())
            self._error = self._error or known or failure(message(error))
        except Exception as error:  # most often because task or shared cannot be pickled
            self._error = error

    def _job_ids(self):
        return job_ids(self._sc, self._tag)


class StageSettings(NamedTuple):
    """Settings of a stage's tasks.

    Parameters
    ----------
    device : str
        Of a TrainingMaster.
    team : Team
        On executors a SharedValue of it: it has an entry for each block.
    threads : int or None
        See `threads_of_a_task`.
    """

    device: str
    team: Team | SharedValue
    threads: int | None = None


def work(task, shared, evaluates, each, items):
    """Runs a stage's task on an executor."""
    device, shared_team, threads = each
    team = shared_team.value
    workers = team.workers(TaskContext.get().partitionId())
    check_first_attempt(TaskContext.get(), workers)
    compute = partial(train, task, shared, evaluates)
    with note_errors(), computing_with(threads):
        if team.workers_per_task > 1:
            run_workers(device, compute, items, workers, team)
            return iter(())
        return iter(list(run_on_device(device, compute, items, workers[0])))


def check_first_attempt(context, workers):
    """Raises WorkerError in a task that Spark has restarted, as the other workers have gone on.

    A barrier stage is restarted as a whole.
    """
    if context.attemptNumber() and not isinstance(context, BarrierTaskContext):
        ranks = ", ".join(str(worker.rank) for worker in workers)
        raise WorkerError(f"worker {ranks}: {RESTARTED}")
