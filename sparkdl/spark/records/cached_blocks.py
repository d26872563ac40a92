"""A data set as blocks that stay with the executors: each a partition of one cached RDD.

A round computes on the partitions it has chosen and touches no other, whatever their number. What
is lost with an executor, Spark makes again from the data.
"""

from dataclasses import dataclass
from functools import partial

from pyspark import RDD, StorageLevel

from sparkdl.data.batches.dealing import deal
from sparkdl.errors import NoRecords, require
from sparkdl.spark.jobs.frozen_modules import freeze_modules
from sparkdl.training.workers.contribution import Failure


@dataclass(frozen=True, eq=False)
class SparkBlocks:
    """One partition of (number, piece) pairs for each block; `sizes` are the blocks' records."""

    rdd: RDD
    sizes: list[int]

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
        counts, nbytes = measure_partitions(batches)
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
    return SparkBlocks(blocks, dealing.sizes)


def storage_level(options):
    """Returns the StorageLevel that the options name."""
    known = [name for name in vars(StorageLevel) if name.isupper() and name != "NONE"]
    require(options, "storage_level", options.storage_level in known, f"one of {known}")
    return getattr(StorageLevel, options.storage_level)


def measure_partitions(batches):
    """Returns the number of records of each partition, and the bytes in all."""
    found = batches.mapPartitions(measure).collect()
    failure = next((f for _, _, f in found if f is not None), None)
    if failure is not None:
        raise failure.error
    if not sum(count for count, _, _ in found):
        raise NoRecords("there are no records to train on: every partition is empty")
    return [count for count, _, _ in found], sum(nbytes for _, nbytes, _ in found)


def measure(batches):
    """Yields (records, bytes, the Failure if there is one) of a partition."""
    freeze_modules()
    count = nbytes = 0
    for batch in batches:
        if isinstance(batch, Failure):
            yield count, nbytes, batch
            return
        count, nbytes = count + len(batch), nbytes + batch.nbytes
    yield count, nbytes, None


def prune_partitions(rdd, numbers):
    """Keeps some partitions of an RDD, in ascending order.

    Spark has PartitionPruningRDD for this; it takes a function from Int to Boolean, and a Scala set
    is one.
    """
    jvm, whole = rdd.context._jvm, rdd._jrdd.rdd()
    wanted = jvm.PythonUtils.toSeq(sorted(numbers)).toSet()
    part = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(whole, wanted)
    return RDD(part.toJavaRDD(), rdd.context, rdd._jrdd_deserializer)
