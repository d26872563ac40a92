"""Workers that are tasks of ordinary Spark jobs, so that Spark itself retries lost ones."""

import logging
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.resource import ResourceProfile

from sparkdl.data.batches.dealing import assemble_block
from sparkdl.errors import SparkdlError, count_of
from sparkdl.spark.gpu_process.dispatch import run_partition_on_device
from sparkdl.spark.jobs.job import clear_errors, job, no_waiting_for_locality
from sparkdl.spark.jobs.jvm_memory import jvm_memory
from sparkdl.spark.jobs.log_prefix import sign_logs
from sparkdl.spark.jobs.result_size import check_result_size
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.jobs.slot_request import request_slots
from sparkdl.spark.jobs.slots import (
    check_launch,
    concurrent_tasks,
    decommissions,
    dynamic,
    gpus_of_a_task,
    launch_obstacle,
    leaving_executors,
    live_executors,
    option,
    slots,
)
from sparkdl.spark.jobs.stalled_tasks import StalledTasks
from sparkdl.spark.jobs.task_resources import (
    computing_with,
    threads_of_a_task,
    with_resources,
)
from sparkdl.spark.launch.team import Team
from sparkdl.spark.launch.worker_shares import deal_blocks
from sparkdl.spark.launch.worker_stage import StageSettings, WorkerStage
from sparkdl.spark.records.blocks import load_blocks
from sparkdl.training.workers.base import MORE_SLOTS
from sparkdl.training.workers.contribution import failure_of, group, levels, total, unwrap

log = logging.getLogger(__name__)
LEAVING = "decommissioned: executor {}"
LOOK = 1.0  # seconds between two checks for executors that will leave


class SparkWorkers:
    """Logical workers: as many as asked for, or as the cluster has room for.

    Workers that stay for a whole fit all run at once, in as many tasks as the cluster has slots; a
    task holds one worker, or several that share its cores. Sums are ordered by rank, so the weights
    do not depend on the number of slots.

    Parameters
    ----------
    sc : SparkContext
    size : int or None
        None: as many as the executors run at once, found when data is loaded.
    device : str
        Where they compute; of a TrainingMaster.
    resources : ResourceProfile, optional
        Resources of each of their tasks, as `known_profile` gives them; default: those of the
        session's tasks.
    stall_timeout : float, optional
        Seconds that a task of a round may keep the others waiting before Spark reruns it.
    """

    def __init__(
        self,
        sc: SparkContext,
        size: int | None = None,
        device: str = "auto",
        resources: ResourceProfile | None = None,
        stall_timeout: float | None = None,
    ) -> None:
        self.sc, self._size, self._device, self._resources = sc, size, device, resources
        self._stall_timeout, self._longest_round = stall_timeout, None
        self._has_launched, self._team = False, Team.of((), 1)  # that of the last launch
        self._holders: set[str] = set()  # executors of the first launch, which hold the records
        self._leaving: set[str] = set()  # executors that were to leave at the last launch
        self._looked = 0.0
        # Why the next launch uses other slots, though no worker was lost.
        self._reason: str | None = None

    @property
    def size(self) -> int:
        if self._size is None:
            self._size = slots(self.sc, resources=self._resources) * self._gpus_per_task
        return self._size

    @property
    def _gpus_per_task(self) -> int:
        """GPUs per task, one for each of its resident workers; 1 if tasks own none."""
        if self._device == "cpu":
            return 1
        return max(1, int(gpus_of_a_task(self.sc, self._resources)))

    @property
    def _threads(self) -> int | None:
        return threads_of_a_task(self.sc, self._resources)

    def load(self, data: Any, schema: Any, size: int, options: Any) -> Any:
        """Reads SparkRecords on the executors and keeps them there in blocks; see Workers.load."""
        from sparkdl.spark.records.kept_data import open_data  # executors don't need this import

        open_records = partial(open_data, self.sc, data, schema)
        with ExitStack() as interrupted:  # a Ctrl-C may be raised as late as at the job's end
            with job(self.sc, "records to blocks", "reading the data"):
                blocks = load_blocks(schema, open_records, size, lambda: self.size, options)
                interrupted.callback(blocks.close, keep=True)
            interrupted.pop_all()
        return blocks

    def run_round(self, task: Any, blocks: Any, chosen: Any, shared: Any, depth: int) -> Any:
        """Runs one Spark job: broadcasts `shared`, a task per chosen block, a tree of sums."""
        start = time.perf_counter()
        with sharing(self.sc, shared) as sent:
            averaging = time.perf_counter() - start
            with self._round(f"a round on {len(chosen)} blocks"):
                numbers = sorted(chosen)
                parts = with_resources(blocks.chosen(numbers), self._resources)
                each = self._device, self._threads
                ranked = contributions(task, sent, parts, numbers, chosen, *each)
                with no_waiting_for_locality(self.sc):
                    sums = tree(ranked, len(chosen), depth, total)
            start = time.perf_counter()
            result = unwrap(total(sums))
        result.averaging += averaging + time.perf_counter() - start
        return result

    def keep_size(self, size: int) -> None:
        """Takes the size of a fit that is resumed, if none was given; see Workers.keep_size."""
        if self._size is None:
            self._size = size

    def check_result(self, nbytes: int, depth: int) -> None:
        """Raises ConfigError if Spark cannot pass on contributions with so many bytes."""
        check_result_size(self.sc, nbytes, [self.size, *levels(self.size, depth)][-1])

    @contextmanager
    def _round(self, description):
        """Describes the jobs of a round; a task that stalls in them is rerun."""
        start, questions = time.perf_counter(), []
        if self._stall_timeout is not None:
            limits = self._stall_timeout, self._longest_round
            questions.append(StalledTasks(self.sc, description, *limits))
        with job(self.sc, description, "a round", *questions):
            yield
        self._longest_round = max(self._longest_round or 0.0, time.perf_counter() - start)

    @property
    def host(self) -> str | None:
        """The name or address by which executors reach the driver for Spark's own sake."""
        return option(self.sc, "spark.driver.host")

    def room(self) -> int:
        """Returns how many workers can be launched: all, however few slots are left."""
        return self.size

    def other_memory(self) -> dict[str, int]:
        """Returns what Spark's JVMs have used of memory."""
        return jvm_memory(self.sc)

    def obstacle(self) -> str | None:
        """Returns why workers cannot stay in the tasks of a stage, or None."""
        return launch_obstacle(self.sc)

    def workers_per_task(self, workers: int, moves: bool = False) -> int:
        """Returns how many workers a task has so that all of them run at once.

        The first launch waits for the executors that the session asked for. A launch after a loss
        takes the slots that are left, at least one; workers move once other executors have started.
        Under dynamic allocation, Spark is asked for the slots that the workers need.
        """
        with clear_errors("asking for slots"):
            if moves:
                slot_count = self._slots_now()
            else:
                wanted = self._tasks_wanted(workers)
                request_slots(self.sc, wanted, self._resources)
                enough = 1 if self._has_launched else wanted
                slot_count = slots(self.sc, 1, self._resources, enough)
        self._has_launched = True
        return self._workers_each(workers, slot_count)

    def _slots_now(self):
        return max(1, concurrent_tasks(self.sc, self._resources))

    def _tasks_wanted(self, workers):
        """Returns the number of tasks at which no worker shares a core or GPU needlessly."""
        return -(-workers // self._gpus_per_task)

    def _workers_each(self, workers, slot_count):
        """Returns the number of workers per task if `slot_count` tasks run at once."""
        return max(self._gpus_per_task, -(-workers // slot_count))

    def _is_crowded(self):
        """Returns whether workers of the last launch share tasks for lack of slots."""
        return self._team.workers_per_task > self._gpus_per_task

    def reason_to_move(self) -> str | None:
        """Returns why workers are to move to other slots: more have come, or some will go."""
        if not (self._is_crowded() or decommissions(self.sc)):
            return None
        with suppress(Py4JError, PySparkException):  # the fit goes on without the answer
            now = concurrent_tasks(self.sc, self._resources)
            if now and self._workers_each(self._team.size, now) < self._team.workers_per_task:
                return MORE_SLOTS
            if now and time.monotonic() - self._looked > LOOK:
                self._looked = time.monotonic()
                leaving = leaving_executors(self.sc, only_busy=True) - self._leaving
                return LEAVING.format(", ".join(sorted(leaving))) if leaving else None
        return None

    def move(self, reason: str) -> None:
        """Has the next launch take the slots that there are; see Workers.move."""
        self._reason = reason

    def launch(
        self, task: Any, blocks: Any, shares: Any, shared: Any, validation: Any = None
    ) -> Any:
        """Starts one stage of as many tasks as there are slots; see Workers.launch."""
        check_launch(self.sc)
        reason, self._reason = self._reason, None
        with clear_errors("looking for executors that leave"):
            self._count_launch(blocks, validation, reason)
        self._team = team = Team.of(shares, self.workers_per_task(len(shares), reason is not None))
        if self._is_crowded():
            log.info(
                "%d workers train in %s, up to %d in each: there are no more slots",
                *(team.size, count_of(team.tasks, "task"), team.workers_per_task),
            )
        items, evaluates = deal_blocks(blocks, shares, team, validation), validation is not None
        each = StageSettings(self._device, team, self._threads)
        is_dynamic, missing = dynamic(self.sc), self._tasks_wanted(team.size) - team.tasks
        return WorkerStage(
            *(self.sc, task, items, shared, evaluates, each),
            resources=self._resources,
            is_barrier=not is_dynamic,
            missing=missing if is_dynamic else 0,
        )

    def _count_launch(self, blocks, validation, reason):
        """Counts a launch, unless all executors with records stay; rereads records that leave."""
        from sparkdl.spark.records.validation_records import (  # executors don't need this import
            ValidationRecords,
        )

        leaving = leaving_executors(self.sc)
        staying = {name for name, _ in live_executors(self.sc)} - leaving
        if not blocks.launches:
            self._holders = staying
        if reason != MORE_SLOTS or not self._holders <= staying:
            blocks.launches += 1
        if leaving - self._leaving:
            blocks.launches = max(blocks.launches, 2)
            blocks.read_again()
            if isinstance(validation, ValidationRecords):
                validation.read_again()
        self._leaving = leaving

    def close(self) -> None:
        """Ends nothing: the executors are Spark's."""


def contributions(task, shared, parts, numbers, chosen, device, threads):
    """Returns an RDD of (rank, Contribution), one for each of the chosen blocks in `parts`."""
    rank_of = {number: rank for rank, number in enumerate(chosen)}
    ranks = [rank_of[number] for number in numbers]
    compute = partial(contribute, task, shared, numbers, ranks)
    return parts.mapPartitionsWithIndex(partial(run_with_threads, threads, device, compute))


def run_with_threads(threads, device, compute, partition, items):
    """Runs a task of a round with this many threads; see `computing_with`."""
    with computing_with(threads):
        yield from run_partition_on_device(device, compute, partition, items)


def contribute(task, shared, numbers, ranks, index, pieces):
    """Runs one task of a round on an executor."""
    start = time.perf_counter()
    block = assemble_block([piece for _, piece in pieces])
    reading = time.perf_counter() - start
    with sign_logs(ranks[index], len(ranks)):
        try:
            result = task(shared.value, numbers[index], block)
            result.reading += reading
            seconds = result.reading, result.compute
            log.info(
                "a round of %d examples on %s: read in %.2f s, trained in %.2f s",
                result.examples,
                ", ".join(result.devices),
                *seconds,
            )
        except SparkdlError as error:
            log.error("%s", error)
            result = failure_of(error)
    yield ranks[index], result


def tree(ranked, count, depth, add):
    """Returns (rank, sum) pairs at the driver: few, since executors add groups of them first.

    Parameters
    ----------
    ranked : RDD of (rank, value), one for each rank below `count`
    add : function of a list of such pairs that gives the sum in the order of their ranks
    """
    remaining = count
    for groups in levels(count, depth):
        keyed = ranked.map(partial(by_group, remaining, groups))
        ranked = keyed.partitionBy(groups, int).mapPartitions(partial(add_groups, add))
        remaining = groups
    return ranked.collect()


def by_group(count, groups, pair):
    return group(pair[0], count, groups), pair


def add_groups(add, keyed):
    """Yields (group, its sum), whatever the order of its values."""
    groups, pairs = zip(*keyed, strict=True)
    yield groups[0], add(pairs)
