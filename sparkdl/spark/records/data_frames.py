"""Sources as DataFrames, for users who keep other columns or write files."""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
from pyspark.sql.types import ArrayType, FloatType, StructField, StructType

from sparkdl.data import Parquet, files
from sparkdl.data.readers.encodings.arrow_columns import table_batch
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError
from sparkdl.spark.records.locality import split_frame, splits_in
from sparkdl.training.inputs.schema import schema_of


def as_frame(spark, source, conf):
    """Returns a source as a DataFrame with transformed features, and the name of their column.

    Parquet keeps all its columns. Other sources give id (partition << 40 | position), label where
    they have one, and features.
    """
    if isinstance(source, Parquet):
        source.splits()  # names what is wrong with the files better than Spark does
        frame, column = spark.read.parquet(uri(source.path)), source.features
        return transform_frame(frame, column, source.transform, conf), column
    schema = record_schema(source, conf)
    if "features" not in schema.inputs:
        names = list(schema.inputs)
        raise ConfigError(f"a network as a column's function needs one input, this has {names}")
    kind = label_type(schema)
    read = partial(read_tables, source.read, source.transform, schema)
    frame = split_frame(spark, source.splits())
    return frame.mapInArrow(read, f"id long{kind}, features array<float>"), "features"


def record_schema(source, conf):
    """Returns the Schema of a source's records; only arrays may come without labels."""
    labelled = getattr(source, "labels", True) is not None
    return schema_of(conf, labelled, source.transform)


def label_type(schema):
    """Returns the Spark type of the column of labels."""
    label = schema.outputs.get("labels")  # those of several outputs are left out
    if label is None:
        return ""
    return ", label int" if label.kind == "class" and not label.shape else ", label array<float>"


def uri(path):
    """Returns the path for Spark, which else takes local ones for its default file system's."""
    path = files.absolute(path)
    return path if "://" in path else Path(path).as_uri()


def transform_frame(frame, column, transform, conf):
    """Returns the frame with another content of the column of features."""
    if transform is None:
        return frame
    new = StructField(column, ArrayType(FloatType()))
    fields = [new if field.name == column else field for field in frame.schema.fields]
    schema = schema_of(conf, labels=False, transform=transform)
    change = partial(change_tables, column, transform, schema)
    return frame.mapInArrow(change, StructType(fields))


def change_tables(column, transform, schema, tables):
    """Yields Arrow tables with transformed features."""
    for table in tables:
        if table.num_rows:
            batch = table_batch(table, {"features": column}, "Parquet", 0)
            new = list_column(rows(transform(schema.check(batch, "Parquet")).features))
            yield table.set_column(table.schema.get_field_index(column), column, new)


def read_tables(read, transform, schema, tables):
    """Yields Arrow tables of the records of the splits in `tables`."""
    for split in splits_in(tables):
        for batch in check_batches(read, split, schema):
            yield as_table(batch if transform is None else transform(batch))


def as_table(batch):
    """Returns a Batch as an Arrow record batch."""
    columns = {"id": pyarrow.array(batch.ids.astype(np.int64))}
    if batch.labels is not None:
        labels = batch.labels
        columns["label"] = pyarrow.array(labels) if labels.ndim == 1 else list_column(rows(labels))
    columns["features"] = list_column(rows(batch.features))
    return pyarrow.RecordBatch.from_pydict(columns)


def rows(array):
    """Returns (n, ...) as float32 (n, numbers)."""
    return array.reshape(len(array), -1).astype(np.float32)


def list_column(array):
    """Returns (n, k) as n lists of k numbers."""
    bounds = np.arange(0, array.size + 1, array.shape[1], dtype=np.int32)
    return pyarrow.ListArray.from_arrays(bounds, pyarrow.array(array.reshape(-1)))
