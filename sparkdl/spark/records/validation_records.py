"""Validation records: read once, where they lie, and kept for the next fit."""

from contextlib import ExitStack, contextmanager
from typing import Any

from pyspark import SparkContext

from sparkdl.cached_value import cached_value
from sparkdl.data.record_store import read_records
from sparkdl.data.records.label_facts import EMPTY, nothing_to_evaluate, require_weight
from sparkdl.data.stored_batches import StoredBatches
from sparkdl.errors import NoRecords
from sparkdl.spark.jobs.job import job
from sparkdl.spark.records.kept_data import open_data
from sparkdl.spark.records.records import SparkRecords
from sparkdl.spark.records.stored_partition import StoredPartition
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.workers.base import Validation, closing_data

DRAWS_NONE = (
    "validation_split selects none of the records; equal records stay together: give a larger "
    "split, or more distinct records"
)


class ValidationRecords:
    """Batches of validation records on the executors, read on first use.

    Parameters
    ----------
    sc : SparkContext
    records : SparkRecords
    schema : Schema
    drawn : bool
        Whether they are drawn by `validation_split`.

    Raises
    ------
    ConfigError, DataError
        For problems known before any job; later, when records are read, for the first unusable one,
        or if there are none.
    """

    def __init__(
        self, sc: SparkContext, records: SparkRecords, schema: Any, drawn: bool = False
    ) -> None:
        records.check(schema)
        self._sc, self._records, self._schema, self._drawn = sc, records, schema, drawn

    @cached_value
    def opened(self):
        try:
            with ExitStack() as interrupted:  # a Ctrl-C may be raised as late as at the job's end
                with job(self._sc, "records to evaluate on", "reading the data to evaluate on"):
                    opened = open_data(self._sc, self._records, self._schema)
                    interrupted.callback(opened.release, keep=True)
                    require_weight(opened.store.label_facts())
                interrupted.pop_all()
            return opened
        except NoRecords:
            why = DRAWS_NONE if self._drawn else EMPTY
            raise nothing_to_evaluate(f": {why}") from None

    @property
    def rdd(self):
        """An RDD of the Batches, each partition located with its folders."""
        return self.opened.store.rdd.mapPartitions(stored_batches)

    def share(self, rank, size):
        """Returns the StoredBatches of one of `size` workers, which can open all folders."""
        folders = {each.partition: each.folder for each in self.opened.store.partitions}
        return StoredBatches(folders=folders, rank=rank, size=size)

    def locate(self):
        """Finds the folders' current locations; see ExecutorStore.locate."""
        self.opened.store.locate()

    def read_again(self):
        """Makes the next launch reread the records; see ExecutorStore.read_again."""
        self.opened.store.read_again()

    def close(self, keep=False):
        """Frees the executors' storage; with `keep`, records may stay for the next fit."""
        if "opened" in vars(self):
            self.opened.release(keep)


@contextmanager
def open_validation(sc, conf, records, changes=()):
    """Provides the Validation of SparkRecords for one fit of a network, or None without records."""
    if records is None:
        yield None
        return
    schema = schema_of(conf, True, records.transform, changes)
    with closing_data(ValidationRecords(sc, records, schema, bool(changes))) as batches:
        yield Validation(batches, Evaluator(conf, records.transform))


def stored_batches(rows):
    """Yields the Batches of a task, whose rows are its StoredPartitions."""
    for row in rows:
        yield from read_records(StoredPartition(*row).folder)


def rdd_of(batches):
    """Returns validation data as an RDD of Batch and Failure, or None."""
    return batches.rdd if isinstance(batches, ValidationRecords) else batches
