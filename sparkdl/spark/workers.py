"""Workers that are tasks of ordinary Spark jobs, so that Spark itself heals what is lost."""

import time
from contextlib import contextmanager
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sparkdl.errors import SparkdlError, WorkerError
from sparkdl.spark.blocks import load_blocks
from sparkdl.training.aggregate import Failure, group, levels, total, unwrap

LOCALITY_WAIT = "spark.locality.wait"


class SparkWorkers:
    """As many tasks at a time as asked for, or as the cluster has room for.

    Parameters
    ----------
    sc : SparkContext
    size : int or None
        None: as many as the executors that have come run at once, found when data is loaded.
    """

    def __init__(self, sc, size=None):
        self.sc, self._size = sc, size

    @property
    def size(self):
        if self._size is None:
            self._size = slots(self.sc)
        return self._size

    def load(self, data, schema, size, options):
        """Read Records on the executors and keep them there in blocks; see Workers.load."""
        self.sc.setJobDescription("sparkdl: records to blocks")
        with clear_errors("reading the data"):
            return load_blocks(data.batches(self.sc, schema), size, lambda: self.size, options)

    def sum(self, task, blocks, chosen, shared, depth):
        """One Spark job: broadcast `shared`, a task per chosen block, a tree of sums."""
        began = time.perf_counter()
        broadcast = self.sc.broadcast(shared)
        sent = time.perf_counter() - began
        self.sc.setJobDescription(f"sparkdl: {task.__name__} on {len(chosen)} blocks")
        try:
            with clear_errors("a round"), no_waiting_for_locality(self.sc):
                ranked = tree(contributions(task, broadcast, blocks, chosen), len(chosen), depth)
            began = time.perf_counter()
            result = unwrap(total(ranked))
        finally:
            broadcast.destroy()
        result.averaging += sent + time.perf_counter() - began
        return result

    def close(self):
        """Nothing to end: the executors are Spark's."""


def contributions(task, broadcast, blocks, chosen):
    """An RDD of (rank, Contribution), one for each chosen block."""
    numbers = sorted(chosen)
    ranks = [chosen.index(number) for number in numbers]
    work = partial(contribute, task, broadcast, numbers, ranks)
    return blocks.chosen(numbers).mapPartitionsWithIndex(work)


def contribute(task, broadcast, numbers, ranks, index, blocks):
    """What one task does, on an executor."""
    for block in blocks:
        try:
            yield ranks[index], task(broadcast.value, numbers[index], block)
        except SparkdlError as error:
            yield ranks[index], Failure(error)


def tree(ranked, count, depth):
    """(rank, sum) pairs at the driver: few, since executors have added neighbours before."""
    left = count
    for groups in levels(count, depth):
        keyed = ranked.map(partial(by_group, left, groups))
        ranked, left = keyed.partitionBy(groups, int).mapPartitions(added), groups
    return ranked.collect()


def by_group(count, groups, pair):
    return group(pair[0], count, groups), pair


def added(keyed):
    """The sum of one group, in the order of its ranks, whatever order they came in."""
    pairs = list(keyed)
    yield pairs[0][0], total([pair for _, pair in pairs])


def slots(sc):
    """Tasks that the executors run at once."""
    context = sc._jsc.sc()
    return max(
        1, context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile())
    )


@contextmanager
def no_waiting_for_locality(sc):
    """Run a task wherever a slot is free.

    A task would else wait 3 s for the executor that holds its block, while another one idles: a
    block is fetched in milliseconds. Spark reads the option for each stage.
    """
    conf = sc._jsc.sc().conf()
    before = conf.get(LOCALITY_WAIT, "3s")
    conf.set(LOCALITY_WAIT, "0")
    try:
        yield
    finally:
        conf.set(LOCALITY_WAIT, before)


@contextmanager
def clear_errors(doing):
    """A Spark job that failed for good becomes a WorkerError that begins with the reason."""
    try:
        yield
    except (Py4JError, PySparkException) as error:
        cause = getattr(error, "java_exception", None)
        text = str(error if cause is None else cause.getMessage())
        raise WorkerError(f"{doing} failed on the cluster: {reason(text)}") from error


def reason(text):
    """The line of a Spark message that says why: a Python error's last line, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent")]
    if not python:
        return lines[0] if lines else "no reason given"
    after = [line for line in lines[python[-1] + 1 :] if not line.startswith(("File ", "at "))]
    errors = [line for line in after if line.split(":")[0].rpartition(".")[2].endswith("Error")]
    return errors[-1] if errors else lines[0]
