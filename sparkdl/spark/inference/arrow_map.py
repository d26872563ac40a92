"""DataFrame.mapInArrow for results with vectors of pyspark.ml or structs, and for any column names.

The Python half of Spark 3.4 refuses such results, although its JVM supports them. From 3.5 on both
support them.

All versions look up columns by name. Names with dots or backticks, duplicates, and `*` cannot be
looked up: such columns go through Python under numbered names.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType
from pyspark.sql.udf import UserDefinedFunction, _wrap_function

from sparkdl.spark.inference.sent_types import hide_classes
from sparkdl.spark.jobs.release import PYSPARK
from sparkdl.spark.jobs.sent_function import SentFunction

TAKES_VECTORS = PYSPARK >= (3, 5)
MOST_LOOKED_UP = 100  # columns
MAP_IN_ARROW = 207  # PythonEvalType.SQL_MAP_ARROW_ITER_UDF


def map_in_arrow(frame: Any, function: Any, fields: StructType) -> Any:
    """Returns the DataFrame with these fields that `function` makes from a frame's Arrow tables."""
    frame, function = with_plain_names(frame, SentFunction(function))
    if are_plain(fields.names):
        return map_by_name(frame, function, fields)
    inner = StructType(
        [
            StructField(name, field.dataType, field.nullable, field.metadata)
            for name, field in zip(numbered(fields.names), fields.fields, strict=True)
        ]
    )
    mapped = map_by_name(frame, partial(rename_results, function, inner.names), inner)
    return mapped.toDF(*fields.names)


def with_plain_names(frame: Any, function: Any) -> tuple[Any, Any]:
    """Returns a DataFrame that mapInArrow accepts, and the function adapted to it."""
    names = frame.columns
    if are_plain(names):
        return frame, function
    return frame.toDF(*numbered(names)), partial(rename_inputs, function, names)


def select_columns(frame: Any, names: Iterable[str]) -> Any:
    """Returns the DataFrame of some columns, whatever the names of the others."""
    known, names = frame.columns, list(names)
    if are_plain(known):
        return frame.select(*names)
    plain = numbered(known)
    return frame.toDF(*plain).select(*(plain[known.index(name)] for name in names)).toDF(*names)


def are_plain(names: list[str]) -> bool:
    """Returns whether Spark, which ignores case, finds these columns by their names."""
    unique = len({name.lower() for name in names}) == len(names)
    return unique and not any(mark in name for name in names for mark in ".`") and "*" not in names


def numbered(names: list[str]) -> list[str]:
    return [f"c{place}" for place in range(len(names))]


def rename_inputs(function: Any, names: list[str], tables: Iterator[Any]) -> Iterator[Any]:
    """Returns the result of a function for tables whose original column names are restored."""
    return function(with_names(table, names) for table in tables)


def rename_results(function: Any, names: list[str], tables: Iterator[Any]) -> Iterator[Any]:
    """Yields a function's result tables with renamed columns."""
    for table in function(tables):
        yield with_names(table, names)


def with_names(table, names):
    return pyarrow.RecordBatch.from_arrays(table.columns, names=names)


def map_by_name(frame: Any, function: Any, fields: StructType) -> Any:
    """Returns the result of `map_in_arrow` if all names are plain.

    pyspark looks up each column by calls of the JVM, which search all of them: many are passed as
    one struct.
    """
    if len(frame.columns) > MOST_LOOKED_UP:
        frame, function = frame.select(row_struct()), partial(unpack_rows, function)
    if TAKES_VECTORS:
        return frame.mapInArrow(function, hide_classes(fields))
    column = UncheckedFunction(function, returnType=fields, evalType=MAP_IN_ARROW)(
        *(frame[name] for name in frame.columns)
    )
    mapped = frame._jdf.pythonMapInArrow(column._jc.expr())
    return DataFrame(mapped, frame.sparkSession)


def row_struct():
    """Returns a column with the rows of a DataFrame as structs."""
    from pyspark.sql import functions as F  # which executors do not need

    return F.struct("*").alias("row")


def unpack_rows(function: Any, tables: Iterator[Any]) -> Iterator[Any]:
    """Returns the result of a function for tables whose only column has structs of their rows."""
    return function(pyarrow.RecordBatch.from_struct_array(table.column(0)) for table in tables)


class UncheckedFunction(UserDefinedFunction):
    """A function whose result type Spark 3.4 checks neither on the driver nor in a task."""

    @property
    def returnType(self):
        return self._returnType

    def _create_judf(self, func):
        session = SparkSession.builder.getOrCreate()
        wrapped = _wrap_function(session.sparkContext, func, StructType())
        kind = session._jsparkSession.parseDataType(self.returnType.json())
        spark_sql = session.sparkContext._jvm.org.apache.spark.sql
        made = spark_sql.execution.python.UserDefinedPythonFunction
        return made(self._name, wrapped, kind, self.evalType, self.deterministic)
