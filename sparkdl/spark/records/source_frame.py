"""Sources as DataFrames, for users who keep other columns or write files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType

from sparkdl.data import Parquet
from sparkdl.data.batches.batch import position
from sparkdl.data.readers.encodings.arrow_columns import table_batch
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError, DataError
from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.predictions import numbers
from sparkdl.spark.records.data_frames import list_column, parquet_frame
from sparkdl.spark.records.locality import split_frame, splits_in
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.targets import without_absent_labels

Tables = Iterator[pyarrow.RecordBatch]


@dataclass(frozen=True)
class SourceFrame:
    """A source as a DataFrame with transformed features.

    Parameters
    ----------
    column : str
        Of the features.
    below : DataFrame
        What the executors start from: splits, or the records of Parquet files.
    fields : StructType
        The columns of the records, with their features.
    read : function of Arrow tables of `below`, or None
        Yields those of the records. None: they are those of `below`.
    """

    column: str
    below: DataFrame
    fields: StructType
    read: Callable[[Tables], Tables] | None = None

    @property
    def frame(self) -> DataFrame:
        """The DataFrame of the records."""
        return self.below if self.read is None else map_in_arrow(self.below, self.read, self.fields)

    def map(self, function: Callable[[Tables], Tables], fields: StructType) -> DataFrame:
        """Returns the DataFrame with these fields that `function` makes of the records' tables.

        Records are read, transformed and mapped in one process: they do not pass through the JVM.
        """
        mapped = function if self.read is None else partial(map_records, self.read, function)
        return map_in_arrow(self.below, mapped, fields)


def map_records(read, function, tables):
    """Returns the result of a function of the records' tables."""
    return function(read(tables))


def as_frame(spark, source, conf):
    """Returns a source as a SourceFrame.

    Parquet keeps all its columns. Other sources give id (partition << 40 | position), label if they
    have one, and features.
    """
    if isinstance(source, Parquet):
        wanted = filter(None, (source.features, source.label))
        frame = parquet_frame(spark, source.path, tuple(wanted))
        return transform_frame(frame, source.features, source.transform, conf)
    schema = record_schema(source, conf)
    if "features" not in schema.inputs:
        names = list(schema.inputs)
        raise ConfigError(f"a network used as a column's function must have one input, got {names}")
    own = column_of_features("features", schema)
    fields = [StructField("id", LongType()), *label_fields(schema), own]
    read = partial(read_tables, source.read, source.transform, schema)
    return SourceFrame("features", split_frame(spark, source.splits()), StructType(fields), read)


def record_schema(source, conf):
    """Returns the Schema of a source's records; only arrays may lack labels."""
    labelled = getattr(source, "labels", True) is not None
    return schema_of(conf, labelled, source.transform)


def label_fields(schema):
    """Returns the label column as a list of StructField, empty without one."""
    label = schema.outputs.get("labels")  # labels of several outputs are left out
    if label is None:
        return []
    single = label.kind == "class" and not label.shape
    return [StructField("label", IntegerType()) if single else numbers("label")]


def transform_frame(frame, column, transform, conf):
    """Returns the SourceFrame of a frame whose column of features is transformed."""
    if transform is None:
        return SourceFrame(column, frame, frame.schema)
    schema = schema_of(conf, labels=False, transform=transform)
    own = column_of_features(column, schema)
    fields = [own if field.name == column else field for field in frame.schema.fields]
    change = partial(change_tables, column, transform, schema, conf)
    return SourceFrame(column, frame, StructType(fields), change)


def change_tables(column, transform, schema, conf, tables):
    """Yields Arrow tables with transformed features."""
    for table in tables:
        if table.num_rows:
            columns = {"features": column}
            batch = table_batch(table, columns, "Parquet", 0, sequences=schema.masks)
            checked = schema.check(batch, "Parquet")
            changed = without_absent_labels(transform, checked, conf)(checked)
            new = feature_lists(changed, schema, "Parquet")
            yield table.set_column(table.schema.get_field_index(column), column, new)


def read_tables(read, transform, schema, tables):
    """Yields Arrow tables of the records of the splits in `tables`."""
    for split in splits_in(tables):
        for batch in check_batches(read, split, schema):
            changed = batch if transform is None else transform(batch)
            yield as_table(changed, schema, str(split))


def as_table(batch, schema, where):
    """Returns a Batch as an Arrow record batch; errors name its place, `where`."""
    columns = {"id": pyarrow.array(batch.ids.astype(np.int64))}
    if batch.labels is not None:
        labels = batch.labels
        columns["label"] = pyarrow.array(labels) if labels.ndim == 1 else list_column(rows(labels))
    columns["features"] = feature_lists(batch, schema, where)
    return pyarrow.RecordBatch.from_pydict(columns)


def column_of_features(name, schema):
    """Returns the StructField of lists of features: whole numbers stay such, as float32 ends at
    2**24.
    """
    return StructField(name, ArrayType(LongType())) if schema.longs else numbers(name)


def feature_lists(batch, schema, where):
    """Returns the features as lists of numbers, those of sequences without their padding.

    Raises
    ------
    DataError
        For the first record whose mask leaves out a step before another, which no list can say.
    """
    x = batch.features.astype(np.int64 if schema.longs else np.float32, copy=False)
    mask = batch.columns.get(schema.masks.get("features"))
    if mask is None:
        return list_column(x.reshape(len(x), -1))
    gaps = (np.diff(mask) > 0).any(axis=1)
    if gaps.any():
        record = position(batch.ids[int(np.argmax(gaps))])
        raise DataError(
            f"{where}, record {record}: mask must have its zeros at the end, as predictions of a "
            "source read lists; use SparkNetwork.predict(source), which takes any mask"
        )
    steps = x.reshape(*mask.shape, -1)
    bounds = np.cumsum([0, *(mask.sum(axis=1) * steps.shape[2])], dtype=np.int32)
    return pyarrow.ListArray.from_arrays(bounds, pyarrow.array(steps[mask > 0].reshape(-1)))


def rows(array):
    """Returns (n, ...) as float32 (n, numbers)."""
    return array.reshape(len(array), -1).astype(np.float32)
