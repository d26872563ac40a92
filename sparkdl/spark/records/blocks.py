"""A data set as blocks: records stored on the executors, and the block that each belongs to.

Resident workers read their blocks from the executors' folders. For rounds of the driver each block
is a partition of one cached RDD; a round computes only its chosen partitions, whatever their total
number. Spark recomputes what is lost with an executor.
"""

from typing import Any

from pyspark import RDD, StorageLevel

from sparkdl.cached_value import cached_value
from sparkdl.data.batches.dealing import Dealing, deal
from sparkdl.data.records.label_facts import check_labels
from sparkdl.data.stored_share import StoredShare
from sparkdl.errors import require
from sparkdl.spark.jobs.job import staying_with_data
from sparkdl.spark.jobs.slots import executors_share_host


class SparkBlocks:
    """The blocks of a data set; see Blocks.

    Parameters
    ----------
    opened : OpenedData
    dealing : Dealing
    level : StorageLevel
        Of the blocks in the driver's rounds.

    Attributes
    ----------
    launches : int
        Launches of resident workers on these blocks, except those while all executors that hold
        records were present: from the second on some may have been lost.
    """

    def __init__(self, opened: Any, dealing: Dealing, level: StorageLevel) -> None:
        self.store, self.dealing, self.seconds = opened.store, dealing, opened.seconds
        self.sizes, self.were_kept, self.launches = dealing.sizes, opened.was_kept, 0
        self.why_not_kept = opened.why_not_kept
        self._opened, self._level = opened, level

    @cached_value
    def rdd(self):
        """An RDD with one partition of (number, piece) pairs for each block, in Spark's cache."""
        # Cached in pieces in the JVM, so that no Python process is needed except for training.
        dealt = self.pieces().partitionBy(len(self.sizes), int).persist(self._level)
        try:
            return write_shuffle(dealt)
        except BaseException:
            dealt.unpersist()
            raise

    @property
    def context(self):
        return self.store.rdd.context

    def read_again(self):
        """Makes the next launch reread the records; see ExecutorStore.read_again."""
        self.store.read_again()

    def pieces(self, numbers=None):
        """Returns an RDD of (number, piece) pairs, where the records lie; of all blocks if None."""
        return self.store.pieces(self.dealing, numbers)

    def chosen(self, numbers):
        """Returns an RDD of only the blocks `numbers`, in ascending order."""
        return prune_partitions(self.rdd, numbers)

    def shares(self, shares):
        """Returns a StoredShare for each of these lists of blocks.

        None unless every executor can open all folders. After the first launch executors may have
        been lost: their records are read again.
        """
        if self.launches > 1:
            self.store.locate()
        if not executors_share_host(self.context):
            return None
        folders = {each.partition: each.folder for each in self.store.partitions if each.count}
        return [
            StoredShare(dealing=self.dealing, folders=folders, numbers=frozenset(share))
            for share in shares
        ]

    def close(self, keep=False):
        """Frees the executors' storage; with `keep`, records may stay for the next fit."""
        if "rdd" in vars(self):
            self.rdd.unpersist()
        self._opened.release(keep and self.launches <= 1)


def load_blocks(schema, open_records, size, workers, options):
    """Deals records into blocks, reading them unless an earlier fit has.

    Parameters
    ----------
    schema : Schema
        Of the records, for this fit; it may be stricter than that of an earlier one.
    open_records : function () -> OpenedData
    size : int
        Records of a block.
    workers : function () -> int
        Called after the first job, as only then have all executors come.
    options : has repartition, seed and storage_level

    Raises
    ------
    DataError
        For the first unusable record, or if there are none, or none with a weight above 0.
    """
    level, opened = storage_level(options), open_records()
    counts, nbytes = opened.store.counts, opened.store.nbytes
    try:
        check_labels(schema, opened.store.label_facts())
        dealing = deal(counts, nbytes, size, workers(), options.repartition, options.seed)
    except BaseException:
        opened.release(keep=False)
        raise
    return SparkBlocks(opened, dealing, level)


def storage_level(options):
    """Returns the StorageLevel that the options name."""
    known = [name for name in vars(StorageLevel) if name.isupper() and name != "NONE"]
    require(options, "storage_level", options.storage_level in known, f"one of {known}")
    return getattr(StorageLevel, options.storage_level)


def write_shuffle(rdd):
    """Writes a shuffled RDD's pieces to the executors' disks, where the records lie.

    Returns the RDD. Computing one partition requires the pieces of all.
    """
    with staying_with_data(rdd.context):
        rdd.context.runJob(rdd, take_nothing, [0])
    return rdd


def take_nothing(_):
    return ()


def prune_partitions(rdd, numbers):
    """Returns an RDD of some partitions, in ascending order.

    It uses Spark's PartitionPruningRDD, which takes a function from Int to Boolean; a Scala set is
    one.
    """
    jvm, scala_rdd = rdd.context._jvm, rdd._jrdd.rdd()
    numbers_set = jvm.PythonUtils.toSeq(sorted(numbers)).toSet()
    part = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(scala_rdd, numbers_set)
    return RDD(part.toJavaRDD(), rdd.context, rdd._jrdd_deserializer)
