"""DataFrames of Parquet files, of which each keeps all its columns; paths and columns for Spark."""

import re
from functools import partial, reduce

import numpy as np
import pyarrow
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    NullType,
    NumericType,
    StructType,
)

from sparkdl.data import files
from sparkdl.data.readers.tables.parquet import file_schemas, folder_columns
from sparkdl.errors import DataError
from sparkdl.spark.jobs.slots import is_true

ENDING = "*.[pP][aA][rR][qQ][uU][eE][tT]"  # pattern of the files that `Parquet` takes
HALVES = re.compile(r"\bhalffloat\b(?!:)")  # in Arrow's text of a type, except as a field's name


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


def literal(path):
    """Returns a path escaped for Spark's readers, which would take a[1] as a pattern."""
    return re.sub(r"[][{}*?\\]", r"\\\g<0>", path)


def list_column(array):
    """Returns (n, k) as n lists of k numbers."""
    bounds = np.arange(0, array.size + 1, array.shape[1], dtype=np.int32)
    return pyarrow.ListArray.from_arrays(bounds, pyarrow.array(array.reshape(-1)))
