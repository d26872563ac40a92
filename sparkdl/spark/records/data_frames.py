"""Sources as DataFrames, for users who keep other columns or write files."""

import re
from functools import partial, reduce

import numpy as np
import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    FloatType,
    NullType,
    NumericType,
    StructField,
    StructType,
)

from sparkdl.data import Parquet, files
from sparkdl.data.readers.encodings.arrow_columns import table_batch
from sparkdl.data.readers.tables.parquet import file_schemas
from sparkdl.data.source import check_batches
from sparkdl.errors import ConfigError, DataError
from sparkdl.spark.jobs.slots import is_true
from sparkdl.spark.records.locality import split_frame, splits_in
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.inputs.targets import without_absent_labels

ENDING = "*.[pP][aA][rR][qQ][uU][eE][tT]"  # pattern of the files that `Parquet` takes
HALVES = re.compile(r"\bhalffloat\b(?!:)")  # in Arrow's text of a type, except as a field's name


def as_frame(spark, source, conf):
    """Returns a source as a DataFrame with transformed features, and the name of their column.

    Parquet keeps all its columns. Other sources give id (partition << 40 | position), label if they
    have one, and features.
    """
    if isinstance(source, Parquet):
        column, wanted = source.features, filter(None, (source.features, source.label))
        frame = parquet_frame(spark, source.path, tuple(wanted))
        return transform_frame(frame, column, source.transform, conf), column
    schema = record_schema(source, conf)
    if "features" not in schema.inputs:
        names = list(schema.inputs)
        raise ConfigError(f"a network used as a column's function must have one input, got {names}")
    kind = label_type(schema)
    read = partial(read_tables, source.read, source.transform, schema)
    frame = split_frame(spark, source.splits())
    return frame.mapInArrow(read, f"id long{kind}, features array<float>"), "features"


def record_schema(source, conf):
    """Returns the Schema of a source's records; only arrays may lack labels."""
    labelled = getattr(source, "labels", True) is not None
    return schema_of(conf, labelled, source.transform)


def label_type(schema):
    """Returns the label column in a Spark schema text, or "" without one."""
    label = schema.outputs.get("labels")  # labels of several outputs are left out
    if label is None:
        return ""
    return ", label int" if label.kind == "class" and not label.shape else ", label array<float>"


def uri(path):
    """Returns the path for Spark, which resolves bare local paths against its default file system.

    Nothing is percent-encoded, as Hadoop decodes nothing.
    """
    return f"file://{files.absolute(path)}" if files.is_local(path) else files.absolute(path)


def parquet_frame(spark, path, columns=()):
    """Returns the records of a Parquet file, or of all files that `Parquet` finds below a folder.

    Spark itself descends only into partition folders such as day=1, whose columns it adds, and
    applies one file's types to all. Here all files are read, even beside such folders and with
    other columns or types: records have nulls in columns and struct fields that they lack, and
    numbers take the wider type.

    Raises
    ------
    DataError
        If a file lacks one of the `columns` or has one of a type that Spark lacks, or columns of
        two files do not fit together.
    """
    groups = {}
    for file, schema in file_schemas(path, columns).items():
        require_known_types(file, schema)
        kind = tuple(zip(schema.names, schema.types, strict=True))
        groups.setdefault((folder_columns(path, file), kind), []).append(file)
    if not files.is_directory(path):
        return spark.read.parquet(literal(uri(path)))
    reader = spark.read.options(basePath=uri(path), pathGlobFilter=ENDING)
    if len(groups) == 1:  # Spark takes a folder faster than thousands of files
        [((_, names), _)] = groups
        return reader.option("recursiveFileLookup", not names).parquet(literal(uri(path)))
    typed = {name for _, kind in groups for name, what in kind if what != pyarrow.null()}
    frames = {}
    for (_, kind), alike in groups.items():
        frame = reader.parquet(*[literal(uri(file)) for file in alike])
        empty = [name for name, what in kind if what == pyarrow.null() and name in typed]
        frames[alike[0]] = frame.drop(*empty)  # Spark reads columns without values as int
    require_fitting_types(frames, is_true(spark.conf.get("spark.sql.caseSensitive")))
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames.values())


def require_known_types(file, schema):
    """Raises DataError for columns or lists of half floats, a type that Spark lacks."""
    for field in schema:
        if HALVES.search(str(field.type)):
            raise DataError(
                f"{file}: column {field.name!r} must be of a type that Spark has, got "
                f"{field.type}; write it anew as float32"
            )


def require_fitting_types(frames, case_sensitive):
    """Raises DataError unless columns have compatible types in all {file: frame}.

    Spark would silently convert texts to numbers.
    """
    known = {}  # {column: {text of a type: (the first file, type)}}
    for file, frame in frames.items():
        for field in frame.schema.fields:
            name = field.name if case_sensitive else field.name.lower()
            kinds, here = known.setdefault(name, {}), field.dataType.simpleString()
            if here in kinds:
                continue
            for there, (first, kind) in kinds.items():
                if not fit_together(kind, field.dataType):
                    raise DataError(
                        f"{file}: column {field.name!r} must be {there}, as in {first}, or numbers "
                        f"in both, got {here}; write one of them anew"
                    )
            kinds[here] = file, field.dataType


def fit_together(one, other):
    """Returns whether one type can hold the values of both: they are equal, or both numeric.

    Structs may lack fields of the other.
    """
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return fit_together(one.elementType, other.elementType)
    if isinstance(one, StructType) and isinstance(other, StructType):
        shared = {*one.names} & {*other.names}
        return all(fit_together(one[name].dataType, other[name].dataType) for name in shared)
    numbers = isinstance(one, NumericType) and isinstance(other, NumericType)
    is_empty = NullType() in (one, other)
    return numbers or is_empty or one.simpleString() == other.simpleString()


def folder_columns(path, file):
    """Returns (folder, names) of partition columns: ("a", ("day",)) of a/day=1/b/c."""
    folders = file.removeprefix(files.absolute(path).rstrip("/")).split("/")[1:-1]
    while folders and "=" not in folders[-1]:
        folders.pop()
    names = []
    while folders and "=" in folders[-1]:
        names.insert(0, folders.pop().partition("=")[0])
    return "/".join(folders), tuple(names)


def literal(path):
    """Returns a path escaped for Spark's readers, which would take a[1] as a pattern."""
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", path)


def transform_frame(frame, column, transform, conf):
    """Returns the frame with its column of features transformed."""
    if transform is None:
        return frame
    new = StructField(column, ArrayType(FloatType()))
    fields = [new if field.name == column else field for field in frame.schema.fields]
    schema = schema_of(conf, labels=False, transform=transform)
    change = partial(change_tables, column, transform, schema, conf)
    return frame.mapInArrow(change, StructType(fields))


def change_tables(column, transform, schema, conf, tables):
    """Yields Arrow tables with transformed features."""
    for table in tables:
        if table.num_rows:
            batch = table_batch(table, {"features": column}, "Parquet", 0)
            checked = schema.check(batch, "Parquet")
            changed = without_absent_labels(transform, checked, conf)(checked)
            new = list_column(rows(changed.features))
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
