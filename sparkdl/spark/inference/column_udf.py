"""Networks as UDFs of columns, for DataFrames and SQL."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import pyarrow

from sparkdl.errors import ConfigError
from sparkdl.spark.inference.predictions import arrow_column, brief_errors, check_tables
from sparkdl.spark.jobs.release import PYSPARK, release_of

FIRST_ARROW_UDFS = 4, 1
HAS_ARROW_UDFS = PYSPARK >= FIRST_ARROW_UDFS
# The fields of pyspark.ml's vectors; pandas cannot infer them if all vectors are dense.
VECTOR = {
    "type": pyarrow.int8(),
    "size": pyarrow.int32(),
    "indices": pyarrow.list_(pyarrow.int32()),
    "values": pyarrow.list_(pyarrow.float64()),
}


def column_udf(
    context: Any, schema: Any, column: str, compute: Callable[..., Any], kind: Any
) -> Any:
    """Returns a UDF of feature columns, one for each input, also for SQL.

    It reads Arrow columns if Spark has such UDFs: in pandas, and so in older Spark, null numbers
    are NaN.

    Parameters
    ----------
    context
        Runs the jobs; see sessions.current_context.
    schema : Schema
        Of the features.
    column : str
        The column of `compute` that the UDF returns.
    compute : function of an iterator of Batches
        Yields {column: array} for each.
    kind : DataType
        Of the UDF's result.

    Raises
    ------
    ConfigError
        By the UDF if it is called with a wrong number of columns; from SQL, within the job.
    """
    compute_column = partial(compute_arrays, schema, column, compute)
    make = make_arrow_udf if has_arrow_udfs(context) else make_pandas_udf
    return with_checked_columns(make(compute_column, kind), [*schema.inputs])


def has_arrow_udfs(context: Any) -> bool:
    """Returns whether Spark, and a Spark Connect server, has UDFs of Arrow columns."""
    return HAS_ARROW_UDFS and release_of(context.version) >= FIRST_ARROW_UDFS


def make_arrow_udf(compute_column, kind):
    """Returns a UDF of Arrow columns from a function that yields arrays for them."""
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.pandas.types import to_arrow_type

    arrow_kind = to_arrow_type(kind)

    def predict(parts: Iterator[pyarrow.Array]) -> Iterator[pyarrow.Array]:
        for array in compute_column(parts):
            yield arrow_column(array, arrow_kind)

    return arrow_udf(predict, kind)


def make_pandas_udf(compute_column, kind):
    """Returns a UDF of pandas Series from a function that yields arrays for them."""
    import pandas
    from pyspark.sql.functions import pandas_udf

    def predict(parts: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        for array in compute_column(parts):
            flat = array if array.ndim == 1 else list(array.reshape(len(array), -1))
            yield pandas.Series(flat)

    return pandas_udf(predict, kind)


def with_checked_columns(udf, names):
    """Returns a UDF that checks its number of columns when called, before there is a job."""

    @wraps(udf)  # includes the attributes that spark.udf.register reads
    def predict(*columns, **named):
        check_columns(names, len(columns) + len(named))
        return udf(*columns, **named)

    return predict


def check_columns(names, count):
    """Raises ConfigError unless there are as many columns as inputs."""
    if count != len(names):
        raise ConfigError(
            f"columns must be {len(names)}, one for each input of the model, {names}, got {count}; "
            "give the UDF those of features alone, in this order"
        )


def compute_arrays(schema, column, compute, parts):
    """Yields the arrays of a column of `compute` for the column batches of a UDF."""
    names = {name: name for name in schema.inputs}
    tables = (as_table(part, [*names]) for part in parts)
    batches = check_tables(schema, names, tables, deque(maxlen=0))
    for arrays in brief_errors(compute(batches)):
        yield arrays[column]


def as_table(part, names):
    """Returns an Arrow table of a UDF's column or tuple of columns, with these names."""
    several = part if isinstance(part, tuple) else (part,)
    check_columns(names, len(several))
    return pyarrow.RecordBatch.from_arrays([*map(as_arrow, several)], names=names)


def as_arrow(values):
    """Returns an Arrow or pandas column as Arrow; NaN stays NaN.

    pandas represents vectors as a DataFrame of their fields.
    """
    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return values
    if hasattr(values, "columns"):
        fields = [  # in pandas a null size is NaN
            pyarrow.array(values[name], kind, from_pandas=name != "values")
            for name, kind in VECTOR.items()
        ]
        nulls = pyarrow.array(values["type"].isna())
        return pyarrow.StructArray.from_arrays(fields, names=[*VECTOR], mask=nulls)
    return pyarrow.array(values, from_pandas=False)
