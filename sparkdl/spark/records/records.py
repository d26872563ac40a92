"""Conversion of a fit's data to an RDD of Batches, read and checked on the executors.

An unusable record becomes a Failure among the Batches, not an exception: Spark would retry the
task, four times, and bury the reason in a stack trace.
"""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow
from pyspark import RDD, TaskContext
from pyspark.sql import DataFrame

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.type_names import kind_of
from sparkdl.data.record_store import write_records, write_sorted_records
from sparkdl.data.records.rows import column_names
from sparkdl.data.source import Source, check_batches
from sparkdl.data.transforms import Transform
from sparkdl.data.transforms.compose import as_transform
from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.errors import ConfigError, DataError, SparkdlError, brief
from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.inference.arrow_map import select_columns
from sparkdl.spark.jobs.archive_imports import keep_archives_in_task
from sparkdl.spark.jobs.process_start import note_start
from sparkdl.spark.jobs.python_start import start_python
from sparkdl.spark.records.column_types import arrow_schema, sql_schema
from sparkdl.spark.records.feature_columns import Columns, join_features
from sparkdl.spark.records.frame_schema import check_fields
from sparkdl.spark.records.locality import numbered_rdd, split_rdd
from sparkdl.spark.records.packed_batch import pack_batch, unpack_batch
from sparkdl.spark.records.row_order import is_in_order, map_in_order
from sparkdl.spark.records.stored_partition import COLUMNS, as_table, store_batches
from sparkdl.spark.records.table_pieces import check_pieces
from sparkdl.spark.records.weight_columns import (
    Weights,
    has_column,
    has_name,
    known_weights,
    names_of,
    tells_cases_apart,
    without_columns,
)
from sparkdl.training.workers.contribution import Failure, failure_of
from sparkdl.training.workers.frozen_modules import freeze_modules

Data = RDD | DataFrame | Source
Change = Callable[[Batch], Batch]  # of a minibatch
Changes = Change | Sequence[Transform]  # as users give them
PACKED_COLUMNS = "packed binary, error string"
PACKED = arrow_schema(PACKED_COLUMNS)
KINDS = "an RDD, a DataFrame or a source such as LMDB(path)"
# Cures for data of another package, or of none.
CURES = {
    "pandas": "make one that Spark has: spark.createDataFrame(df)",
    "polars": "make one that Spark has: spark.createDataFrame(df.to_pandas())",
    "pyspark.pandas": "make one that Spark has: df.to_spark()",
}
FOR_RECORDS = "make one of rows: spark.createDataFrame(rows, ['features', 'label'])"
FOR_ARRAYS = "arrays are a source as Arrays(features, labels)"


def is_records(data: Any) -> bool:
    """Returns whether data are an RDD or a DataFrame rather than a source."""
    return isinstance(data, RDD) or is_frame(data)


def require_own_weights(data: Any, weights: Weights) -> None:
    """Raises ConfigError for weights named beside a source, whose records have their own."""
    if weights is not None and not is_records(data) and hasattr(data, "splits"):
        raise ConfigError(
            f"weights must be None for the source {type(data).__name__}, whose records have them "
            f'in the column "weights", or "size_weights" for the output "size" of several, got '
            f"{brief(weights)}"
        )


def require_own_names(source: Source, names: Mapping[str, Any]) -> None:
    """Raises ConfigError for columns named beside a source, which knows its own columns.

    Parameters
    ----------
    names : {option: column}
        "features" and "label", whose defaults are these words.
    """
    kind = type(source).__name__
    for option, given in names.items():
        own = getattr(source, option, None)
        if given == option or (isinstance(own, str) and given == own):
            continue
        takes_names = hasattr(source, option) and type(own) in (str, int, tuple, type(None))
        cure = f"name it in {kind}({option}=...)" if takes_names else "leave it out"
        raise ConfigError(
            f'{option} must be "{option}", the default, for the source {kind}, which has columns '
            f"of its own, got {brief(given)}; {cure}"
        )


@dataclass(frozen=True)
class SparkRecords:
    """Data of any kind that Spark can read, with the columns to take.

    Parameters
    ----------
    data : RDD, DataFrame or Source
    features, label, weights : str
        Columns, if records have names; several features or labels each have their own. Several
        columns of a DataFrame given as `features` become one: see `join_features`. Weights may be
        {column of labels: column}.
    transform : callable, list of transforms or None
        Applied by workers to each minibatch of an RDD or DataFrame; sources have their own.
    lack_weights : bool
        Whether the records of an RDD, all of them, may lack the weights.

    Attributes
    ----------
    given : RDD, DataFrame or Source
        The caller's object, which lives as long as the data is in use.
    """

    data: Any
    features: Columns = "features"
    label: str = "label"
    weights: Weights = None
    transform: Any = None
    lack_weights: bool = False
    given: Any = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "given", self.data)
        data, features = join_features(self.data, self.features)
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "features", features)
        if is_frame(self.data) and self.data.isStreaming:
            raise ConfigError(f"data must be {KINDS}, got a DataFrame that streams; fit takes one")
        if is_records(self.data):
            object.__setattr__(self, "transform", as_transform(self.transform))
            return
        if not hasattr(self.data, "splits"):
            raise ConfigError(
                f"data must be {KINDS}, got {kind_of(self.data)}; {cure_for(self.data)}"
            )
        require_own_names(self.data, {"features": self.features, "label": self.label})
        if self.transform is not None:
            kind = type(self.data).__name__
            raise ConfigError(f"transform must be that of the source {kind}, got another one")
        object.__setattr__(self, "transform", self.data.transform)

    def check(self, schema):
        """Raises ConfigError or DataError for what is known without a job: columns, files."""
        if isinstance(self.data, DataFrame):
            self.select_columns(schema)
        elif not isinstance(self.data, RDD):
            self.data.splits()

    def batches(self, sc, schema):
        """Returns an RDD of Batches, checked against the schema, and Failures."""
        if isinstance(self.data, DataFrame):
            return self._of_frame(schema)
        if isinstance(self.data, RDD):
            names = {"features": self.features, "label": self.label, "weights": self.weights}
            has = partial(has_name, exact=tells_cases_apart()) if self.lack_weights else None
            read = partial(read_rows, schema, names, has)
            return self.data.mapPartitionsWithIndex(read)
        read = partial(read_splits, schema, self.data.read)
        return split_rdd(sc, self.data.splits()).mapPartitions(read)

    def stored(self, sc, schema, key):
        """Returns an RDD of StoredPartition that reads and checks the data once, where it lies.

        Parameters
        ----------
        key : str
            Of the data set, as in `store_batches`.
        """
        if isinstance(self.data, RDD):
            write = write_records if is_in_order(self.data) else write_sorted_records
            store = partial(store_batches, key, schema, write=write)
            return self.batches(sc, schema).mapPartitionsWithIndex(store)
        if not isinstance(self.data, DataFrame):
            store = partial(store_splits, key, schema, self.data.read)
            return numbered_rdd(sc, self.data.splits()).mapPartitions(store)
        start_python(sc, begin_reading)  # planning the first job takes the driver a second
        chosen, columns = self.select_columns(schema)
        store = partial(store_tables, schema, columns, key)
        return map_in_order(chosen, store, sql_schema(COLUMNS)).rdd

    def _of_frame(self, schema):
        chosen, columns = self.select_columns(schema)
        read = partial(read_tables, schema, columns)
        return map_in_order(chosen, read, sql_schema(PACKED_COLUMNS)).rdd.map(of_row)

    def select_columns(self, schema):
        """Returns the DataFrame of the needed columns, and their names."""
        fields = self.data.schema
        columns = schema.fields(self.features, self.label, self.weights, fields.names)
        check_fields(fields, columns, schema)
        names = dict.fromkeys(columns.values())  # without duplicates
        return select_columns(self.data, names), columns


def cure_for(data):
    """Returns how to convert data that Spark cannot read as they are."""
    return frame_cure(data) or FOR_ARRAYS


def cure_for_frame(data):
    """Returns how to convert data to a Spark DataFrame, where nothing else is accepted."""
    return frame_cure(data) or FOR_RECORDS


def frame_cure(data):
    """Returns how to convert a table of another package; None for anything else."""
    kind = kind_of(data)
    return next((CURES[name] for name in CURES if kind.startswith(f"{name}.")), None)


def quote_name(name):
    """Returns a column name quoted for Spark; it may contain dots and backticks."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def begin_reading(rows):
    """Returns the rows of a task of `start_python`: its process has imported this module."""
    note_start()
    keep_archives_in_task()
    return rows


def records_to_fit(data, validation, features, label, weights, transform):
    """Returns SparkRecords of a fit's data.

    Beside validation data with names, those that a source does not have are of the validation data.
    """
    if not is_records(data) and is_records(validation):
        return SparkRecords(data, weights=weights, transform=transform)
    return SparkRecords(data, features, label, weights, transform)


def records_to_evaluate(data, features, label, transform, weights=None):
    """Returns SparkRecords with the columns of a fit; a source has a transform of its own.

    Losses are weighted if a DataFrame, or the records of an RDD, have the column `weights`.
    """
    if is_frame(data):  # over Spark Connect hasattr is True for any name
        known = known_weights(weights, partial(has_column, data))
        return SparkRecords(data, features, label, known, transform)
    if isinstance(data, RDD):
        return SparkRecords(data, features, label, weights, transform, lack_weights=True)
    change = None if hasattr(data, "splits") else transform
    return SparkRecords(data, features, label, transform=change)


def read_rows(schema, names, has, partition, rows):
    """Returns Batches of an RDD's partition; see `records_of`."""
    freeze_modules()
    return until_failure(records_of(schema, names, has, partition, rows))


def records_of(schema, names, has, partition, rows):
    """Yields Batches of records.

    Parameters
    ----------
    names : {option: column}
        Of the features, label and weights.
    has : function (names, name) -> bool, or None
        Whether records have a column. Given, they may lack those of weights, which are then none.

    Raises
    ------
    DataError
        For the first unusable record, or one with weights that the first record lacks.
    """
    if has is not None:
        rows = iter(rows)
        first = list(islice(rows, 1))
        columns = [name for one in first for name in column_names(one) or ()]
        known = known_weights(names["weights"], partial(has, columns))
        lacked = {*names_of(names["weights"])} - {*names_of(known)}
        rows = chain(first, without_columns(rows, lacked, has, partition) if lacked else rows)
        names = names | {"weights": known}
    yield from schema.records(rows, partition, **names)


def read_splits(schema, read, splits):
    """Yields Batches of a source's splits."""
    freeze_modules()
    for split in splits:
        yield from read_split(schema, read, split)


def read_split(schema, read, split):
    """Returns an iterator over the Batches of a split."""
    return until_failure(on_this_host(check_batches(read, split, schema)))


def on_this_host(batches):
    """Yields the batches; errors name the host, as its disk may be at fault."""
    try:
        yield from batches
    except DataError as error:
        raise DataError(f"{error} (read on {platform.node()})") from error


def until_failure(batches):
    """Yields the batches; an error of sparkdl ends them with a Failure."""
    try:
        yield from batches
    except SparkdlError as error:
        yield failure_of(error)


def store_splits(key, schema, read, splits):
    """Stores the records of a task's (number, split); yields a StoredPartition for each.

    Its seconds are those of the task until then.
    """
    began = time.perf_counter()
    for number, split in splits:
        for stored in store_batches(key, schema, number, read_split(schema, read, split)):
            yield stored._replace(seconds=time.perf_counter() - began)


def store_tables(schema, columns, key, tables):
    """Stores the records of a DataFrame's partition; yields its row of figures."""
    partition = TaskContext.get().partitionId()
    batches = table_batches(schema, columns, partition, tables)
    yield from map(as_table, store_batches(key, schema, partition, batches))


def read_tables(schema, columns, tables):
    """Yields Batches of a DataFrame's partition, each as one Arrow row of bytes."""
    freeze_modules()
    partition = TaskContext.get().partitionId()
    for item in until_failure(table_batches(schema, columns, partition, tables)):
        yield pyarrow.RecordBatch.from_pylist([to_row(item)], schema=PACKED)


def to_row(item):
    """Returns the row of a Batch or a Failure."""
    if isinstance(item, Failure):
        return {"error": error_to_text(item.error)}
    return {"packed": pack_batch(item)}


def table_batches(schema, columns, partition, tables):
    """Yields the non-empty checked Batches of a partition's Arrow tables."""
    for _, batch in check_pieces(schema, columns, partition, tables):
        if len(batch):
            yield batch


def of_row(row):
    """Returns the Batch or Failure of a row."""
    if row.error is None:
        return unpack_batch(bytes(row.packed))
    return Failure(error_from_text(row.error))
