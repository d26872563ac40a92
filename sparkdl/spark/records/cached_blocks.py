"""A data set as blocks that stay with the executors: each a partition of one cached RDD.

A round computes on the partitions it has chosen and touches no other, whatever their number. What
is lost with an executor, Spark makes again from the data.
"""

import time
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from pyspark import RDD, StorageLevel

from sparkdl.data.batches.dealing import deal
from sparkdl.errors import NoRecords, require
from sparkdl.spark.jobs.frozen_modules import freeze_modules
from sparkdl.spark.jobs.process_start import seconds_to_start
from sparkdl.training.workers.contribution import Failure


@dataclass(frozen=True, eq=False)
class SparkBlocks:
    """One partition of (number, piece) pairs for each block; `sizes` are the blocks' records.

    `seconds` is what making them took, by phase.
    """

    rdd: RDD
    sizes: list[int]
    seconds: dict[str, float] = field(default_factory=dict)

    def chosen(self, numbers):
        """Returns an RDD of the blocks `numbers` alone, in ascending order."""
        return prune_partitions(self.rdd, numbers)

    def close(self):
        self.rdd.unpersist()


def load_blocks(batches, size, workers, options):
    """Reads `batches`, an RDD of Batches and Failures, once, and deals the records into blocks.

    Parameters
    ----------
    size : int
        Records of a block.
    workers : function () -> int
        Asked once the first job has run: only then have all executors come.
    options : has repartition, seed and storage_level

    Raises
    ------
    DataError
        For the first record that cannot be used, and where there are none.
    """
    level = storage_level(options)
    batches, blocks = batches.persist(level), None
    try:
        counts, nbytes, seconds = measure_partitions(batches)
        start = time.perf_counter()
        dealing = deal(counts, nbytes, size, workers(), options.repartition, options.seed)
        pieces = batches.mapPartitionsWithIndex(dealing.pieces)
        # Kept as the JVM has them, in pieces: no Python process is needed but the one that trains.
        blocks = pieces.partitionBy(len(dealing.sizes), int).persist(level)
        # One block asks for all pieces: they are written to the executors' disks, the rest may go.
        blocks.context.runJob(blocks, partial(map, len), [0])
    except BaseException:
        if blocks is not None:
            blocks.unpersist()
        raise
    finally:
        batches.unpersist()
    seconds["balance"] = time.perf_counter() - start
    return SparkBlocks(blocks, dealing.sizes, seconds)


def storage_level(options):
    """Returns the StorageLevel that the options name."""
    known = [name for name in vars(StorageLevel) if name.isupper() and name != "NONE"]
    require(options, "storage_level", options.storage_level in known, f"one of {known}")
    return getattr(StorageLevel, options.storage_level)


def measure_partitions(batches):
    """Returns the records of each partition, the bytes in all, and seconds by phase."""
    start = time.perf_counter()
    measures = batches.mapPartitions(measure).collect()
    passed = time.perf_counter() - start
    failure = next((part.failure for part in measures if part.failure is not None), None)
    if failure is not None:
        raise failure.error
    if not sum(part.count for part in measures):
        raise NoRecords("there are no records to train on: every partition is empty")
    counts = [part.count for part in measures]
    return counts, sum(part.nbytes for part in measures), reading_phases(measures, passed)


def reading_phases(parts, passed):
    """Returns what of the seconds that passed was what, as its slowest task had it.

    Python starts in a process's first task; what no task knows of is the start of the job.
    """
    reading = min(passed, max(part.seconds for part in parts))
    python = min(passed - reading, max(part.python for part in parts))
    return {"starting": passed - reading - python, "python": python, "reading": reading}


class PartitionMeasure(NamedTuple):
    """Records and bytes of a partition, the Failure in it if there is one, and how long it took.

    Parameters
    ----------
    seconds, python : float
        Seconds of the task, and before it those in which its process has started.
    """

    count: int
    nbytes: int
    failure: Failure | None
    seconds: float
    python: float


def measure(batches):
    """Yields the PartitionMeasure of a partition."""
    python, start = seconds_to_start(), time.perf_counter()
    freeze_modules()
    count = nbytes = 0
    failure = None
    for batch in batches:
        if isinstance(batch, Failure):
            failure = batch
            break
        count, nbytes = count + len(batch), nbytes + batch.nbytes
    yield PartitionMeasure(count, nbytes, failure, time.perf_counter() - start, python)


def prune_partitions(rdd, numbers):
    """Keeps some partitions of an RDD, in ascending order.

    Spark has PartitionPruningRDD for this; it takes a function from Int to Boolean, and a Scala set
    is one.
    """
    jvm, scala_rdd = rdd.context._jvm, rdd._jrdd.rdd()
    numbers_set = jvm.PythonUtils.toSeq(sorted(numbers)).toSet()
    part = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(scala_rdd, numbers_set)
    return RDD(part.toJavaRDD(), rdd.context, rdd._jrdd_deserializer)
