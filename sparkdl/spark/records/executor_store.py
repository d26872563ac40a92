"""All partitions of a data set, stored on the executors that have read them.

Spark caches the figures of each partition, and so knows which executor has the records; it rereads
those of a lost executor.
"""

import json
import time
from contextlib import suppress
from functools import partial

from py4j.protocol import Py4JError
from pyspark import RDD, StorageLevel
from pyspark.errors import PySparkException

from sparkdl.data.records.label_facts import EMPTY, LabelFacts
from sparkdl.error_messages import error_from_text
from sparkdl.errors import DataError, NoRecords, WorkerError
from sparkdl.spark.jobs.job import describe_jobs, job, outside_user_tags, staying_with_data
from sparkdl.spark.jobs.job_watch import tag_jobs
from sparkdl.spark.jobs.slots import executor_locations
from sparkdl.spark.records.locality import parallelize_at
from sparkdl.spark.records.stored_partition import (
    StoredPartition,
    list_folders,
    remove_folders,
    remove_for_good,
    stored_pieces,
)

LEVEL = StorageLevel.MEMORY_AND_DISK
SCHEDULED = 500  # milliseconds, by which Spark has read the settings of a job's stage


class ExecutorStore:
    """The stored partitions of a data set, from their first reading until they are removed.

    Parameters
    ----------
    rdd : RDD of StoredPartition, or of Rows with the same fields
        One for each split of a source, else at most one per partition. Computing it writes the
        folders.
    key : str
        Of the data set, as in `store_batches`.

    Attributes
    ----------
    partitions : list of StoredPartition
        As first read, or as last found by `locate`.
    counts : list of int
        Records of each partition.
    nbytes : int
        Bytes of all arrays.
    """

    def __init__(self, rdd, key):
        # Without a reference to the Python objects it was made from, which may be freed earlier.
        plain = RDD(rdd._jrdd, rdd.context, rdd._jrdd_deserializer)
        self.rdd, self._key = plain.persist(LEVEL), key
        self.partitions, self.counts, self.nbytes = [], [], 0

    def measure(self):
        """Reads the data; returns the seconds that it took, by phase.

        Raises
        ------
        DataError
            For the first unusable record, if there are none, or if only some partitions have
            weights.
        """
        began = time.perf_counter()
        self.partitions, self.counts = self._figures()
        passed = time.perf_counter() - began
        if not sum(self.counts):
            raise NoRecords(f"there are no records to train on: {EMPTY}")
        self.nbytes = sum(stored.nbytes for stored in self.partitions)
        return reading_phases(self.partitions, passed)

    def label_facts(self):
        """Returns the LabelFacts of each partition with records."""
        return [LabelFacts.from_text(one.labels) for one in self.partitions if one.count]

    def locate(self):
        """Finds the folders' current locations; data lost with an executor is read again.

        All data is reread if a live executor lacks some, for example after a cleanup of old files.

        Raises
        ------
        DataError
            As `measure`, and if a partition's number of records has changed.
        """
        sc = self.rdd.context
        with staying_with_data(sc), job(sc, "lost records are read again", "reading lost records"):
            self.partitions, counts = self._figures()
            if not self.is_whole():
                self.read_again()
                self.partitions, counts = self._figures()
        for number, (count, now) in enumerate(zip(self.counts, counts, strict=True)):
            if count != now:
                raise DataError(
                    f"partition {number} must have the {count} records that it had, got {now} "
                    "when an executor was lost and it was read again; train on data that does "
                    "not change"
                )

    def _figures(self):
        """Returns the StoredPartitions, and the number of records of each partition."""
        partitions = [StoredPartition(*row) for row in self.rdd.collect()]
        errors = [stored.error for stored in partitions if stored.error is not None]
        if errors:
            raise error_from_text(errors[0])
        require_same_columns(partitions)
        last = max((stored.partition for stored in partitions), default=-1)
        # An empty partition may have no row; a task may have the rows of several.
        counts = [0] * max(self.rdd.getNumPartitions(), last + 1)
        for stored in partitions:
            counts[stored.partition] = stored.count
        return partitions, counts

    def is_whole(self):
        """Asks all executors whether they still have everything that was first read."""
        try:
            sc = self.rdd.context
            looking = job(sc, "kept records are looked up", "looking up kept records")
            with staying_with_data(sc), looking:
                found = self._on_executors(list_folders).collect()
        except (Py4JError, PySparkException, WorkerError):
            return False
        return {stored.folder for stored in self.partitions} <= set(found)

    def read_again(self):
        """Makes the next job that needs the records reread them, on executors that stay.

        Records of a lost executor are reread automatically. An executor that is being
        decommissioned still has its figures in the cache, or Spark has copied them, but its folders
        go with it.
        """
        self.rdd.unpersist(blocking=True)
        self.rdd.persist(LEVEL)

    def pieces(self, dealing, wanted=None):
        """Returns an RDD of (block, its records), as Dealing.pieces gives them."""
        return self.rdd.mapPartitionsWithIndex(partial(stored_pieces, dealing, wanted))

    def remove(self, while_read=False):
        """Makes all executors remove the folders; waits half a second at most for busy ones.

        Parameters
        ----------
        while_read : bool
            Whether tasks of a cancelled job may still write some; see `remove_for_good`.
        """
        task = remove_for_good if while_read else remove_folders
        with suppress(Py4JError, PySparkException, AttributeError):  # Spark was stopped
            self.rdd.unpersist()
            sc = self.rdd.context
            removing = describe_jobs(sc, "records are removed")
            # A task must not run on another executor, which has nothing to remove.
            with staying_with_data(sc), outside_user_tags(sc), removing, tag_jobs(sc):
                # Failed tasks may have left folders, too.
                removed = self._on_executors(task)._jrdd.countAsync()
                removed.get(SCHEDULED, sc._jvm.java.util.concurrent.TimeUnit.MILLISECONDS)

    def _on_executors(self, task):
        """Returns the RDD of a task run on each executor, which receives the key."""
        places = [[location] for location in executor_locations(self.rdd.context)]
        keys = [self._key] * len(places)
        return parallelize_at(self.rdd.context, keys, places).mapPartitions(task)


def require_same_columns(partitions):
    """Raises DataError unless all StoredPartitions with records have the same columns.

    They differ where records of an RDD, or of a source, have weights in some partitions alone.
    """
    known = {one.partition: {*json.loads(one.columns)} for one in partitions if one.count}
    first, of_first = next(iter(known.items()), (0, set()))
    for number, columns in known.items():
        for name in sorted(columns ^ of_first):
            lacks, has = (number, first) if name in of_first else (first, number)
            raise DataError(
                f"partition {lacks}, record 0: must have {name}, as partition {has} has; give them "
                "to all records, or to none"
            )


def reading_phases(partitions, passed):
    """Splits the seconds that passed into phases, according to the slowest task.

    Python starts in a process's first task; time that no task accounts for is the start of the job.
    """
    reading = min(passed, max(stored.seconds for stored in partitions))
    python = min(passed - reading, max(stored.python for stored in partitions))
    return {"starting": passed - reading - python, "python": python, "reading": reading}
