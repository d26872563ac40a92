"""A DataFrame's records, checked, packed as rows of bytes and cached by Spark for a fit."""

from functools import partial

import pyarrow
from pyspark import TaskContext

from sparkdl.data.records.label_facts import (
    EMPTY,
    LabelFacts,
    check_labels,
    facts_of,
    nothing_to_evaluate,
    require_weight,
)
from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.errors import NoRecords
from sparkdl.spark.jobs.held_settings import override_setting
from sparkdl.spark.jobs.job import clear_errors
from sparkdl.spark.records.column_types import arrow_schema
from sparkdl.spark.records.packed_batch import pack_batch, unpack_batch
from sparkdl.spark.records.records import table_batches, until_failure
from sparkdl.spark.records.row_order import map_in_order
from sparkdl.spark.records.validation_records import DRAWS_NONE
from sparkdl.training.workers.contribution import Failure
from sparkdl.training.workers.frozen_modules import freeze_modules

COLUMNS = (
    "partition int, position int, count long, nbytes long, labels string, number long, "
    "packed binary, error string"
)
ARROW = arrow_schema(COLUMNS)
MERGES = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


class PackedFrame:
    """SparkRecords as packed rows, one for each Batch of a partition.

    Parameters
    ----------
    records : SparkRecords
        Of a DataFrame.
    schema : Schema
    """

    def __init__(self, records, schema):
        self._schema = schema
        chosen, columns = records.select_columns(schema)
        pack = partial(pack_tables, schema, columns)
        self.frame = persist(map_in_order(chosen, pack, COLUMNS))

    def measure(self):
        """Reads the data; returns (records of each partition, bytes of all arrays).

        Raises
        ------
        DataError
            For the first unusable record, or if there are none, or none with a weight above 0.
        """
        rows = self._read("reading the data")
        counts = [0] * (1 + max((row[0] for row in rows), default=-1))
        for partition, count, *_ in rows:
            counts[partition] += count
        if not sum(counts):
            raise NoRecords(f"there are no records to train on: {EMPTY}")
        check_labels(self._schema, label_facts(rows))
        return counts, sum(row[2] for row in rows)

    def check_evaluation(self):
        """Reads data to evaluate on, so that a fit begins only if it can be used.

        Raises
        ------
        DataError
            As `measure` does.
        """
        rows = self._read("reading the data to evaluate on")
        if not any(row["count"] for row in rows):
            raise nothing_to_evaluate(f": {DRAWS_NONE if self._schema.changes else EMPTY}")
        require_weight(label_facts(rows))

    def _read(self, doing):
        """Returns the figures of all Batches by partition; raises the error of the first record."""
        figures = "partition", "count", "nbytes", "labels", "error"
        with clear_errors(doing):  # summed here: a single job, without a shuffle
            rows = self.frame.select(*figures).collect()
        rows.sort(key=lambda row: row["partition"])
        for *_, error in rows:
            if error is not None:
                raise error_from_text(error)
        return rows

    def close(self):
        self.frame.unpersist()


def label_facts(rows):
    """Returns an iterator over the LabelFacts of rows."""
    return (LabelFacts.from_text(row["labels"]) for row in rows)


def persist(frame):
    """Persists a DataFrame with the partitions of a classic fit, on which the weights depend.

    Adaptive execution merges the small partitions that a groupBy, join or sort leaves; those of a
    frame that Spark keeps it merges only if MERGES is true when `persist` is called.
    """
    conf = frame.sparkSession.conf

    def write(value):
        conf.unset(MERGES) if value is None else conf.set(MERGES, value)

    with override_setting("true", partial(conf.get, MERGES, None), write):
        return frame.persist()


def pack_tables(schema, columns, tables):
    """Yields the row of each Batch of a partition, or of the Failure that ends it."""
    freeze_modules()
    partition = TaskContext.get().partitionId()
    batches = until_failure(table_batches(schema, columns, partition, tables))
    for position, item in enumerate(batches):
        facts = {} if isinstance(item, Failure) else {"labels": facts_of(schema, [item]).to_text()}
        yield as_table(packed_row(partition, position, item) | facts)


def packed_row(partition, position, item, number=None):
    """Returns the row of a Batch or a Failure; `number` is that of its block."""
    row = {"partition": partition, "position": position, "number": number, "count": 0, "nbytes": 0}
    if isinstance(item, Failure):
        return row | {"error": error_to_text(item.error)}
    row |= {"count": len(item), "nbytes": item.nbytes}
    return row | {"packed": pack_batch(item)}


def as_table(row):
    return pyarrow.RecordBatch.from_pylist([row], schema=ARROW)


def rows_of(tables):
    """Yields the rows of Arrow tables, as dicts."""
    for table in tables:
        for place in range(table.num_rows):
            [row] = table.slice(place, 1).to_pylist()
            yield row


def batch_of(row):
    """Returns the Batch or Failure of a row."""
    if row["error"] is not None:
        return Failure(error_from_text(row["error"]))
    return unpack_batch(row["packed"])
