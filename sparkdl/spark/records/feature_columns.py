"""Several columns of numbers of a DataFrame as the features of a network."""

from collections.abc import Sequence

from pyspark.sql.types import BooleanType, ByteType, FloatType, IntegralType, ShortType

from sparkdl.errors import ConfigError, DataError, brief
from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.inference.arrow_map import are_plain, numbered
from sparkdl.spark.records.frame_schema import (
    MOST,
    WHERE,
    cure_for_numbers,
    find_columns,
    is_number,
)

Columns = str | Sequence[str]
EXACT = FloatType, ByteType, ShortType, BooleanType  # float32 holds all their values


def join_features(data, features):
    """Returns (data, the column of features): several columns become one of arrays.

    Parameters
    ----------
    data : data of a fit
    features : str or sequence of str
        A column; or the columns of a DataFrame whose numbers are the features, in this order.

    Raises
    ------
    ConfigError
        Several columns are given for data that is no DataFrame, or none, or one of them twice.
    DataError
        A column does not exist, is there twice, or holds no numbers.
    """
    if isinstance(features, str):
        return data, features
    names = check_names(features)
    if not is_frame(data):
        raise ConfigError(
            "features must be the name of one column for data that is no DataFrame, got "
            f"{brief(names)}"
        )
    to = common_type(kinds_of_columns(data.schema, names))
    joined = name_of_join(names, data.columns)
    return with_array(data, names, to, joined), joined


def join_beside(frame, features, keep):
    """Returns (the DataFrame, the column of features, `keep`) for columns that are added to it.

    `keep` are the columns to keep, None all: what `join_features` adds is none of them.
    """
    if keep is None and not isinstance(features, str):
        keep = frame.columns
    return *join_features(frame, features), keep


def with_array(frame, names, kind, joined):
    """Returns the DataFrame with a column of arrays of some columns, whatever their names.

    Its metadata has the number of columns, as a vector's have, for checks before any job.
    """
    from pyspark.sql import functions as F  # which executors do not need

    known = frame.columns
    # Spark replaces variables such as ${x} in the text of an expression, in backticks too.
    is_sound = are_plain(known) and not any("${" in name for name in known)
    plain = known if is_sound else numbered(known)
    place_of = dict(zip(known, plain, strict=True))
    # As text, since each column of an expression made in Python takes 25 calls of the JVM.
    array = F.expr(f"array({', '.join(f'cast(`{place_of[name]}` as {kind})' for name in names)})")
    array = array.alias("joined", metadata={"ml_attr": {"num_attrs": len(names)}})
    if plain is known:
        return frame.withColumn(joined, array)
    return frame.toDF(*plain).withColumn("joined", array).toDF(*known, joined)


def require_column_name(features):
    """Raises ConfigError unless `features` is one name, as the models of a search need."""
    if not isinstance(features, str):
        raise ConfigError(
            f"features must be the name of one column, got {brief(features)}; VectorAssembler "
            "joins several, and several inputs have columns of their own names"
        )


def check_names(features):
    """Returns the names of columns as a list."""
    names = list(features) if isinstance(features, Sequence) else []
    sound = names and all(isinstance(name, str) for name in names)
    if not sound or len(set(names)) < len(names):
        raise ConfigError(
            f"features must be a column, or columns each named once, got {brief(features)}"
        )
    return names


def kinds_of_columns(fields, names):
    """Returns the types of columns that each hold one number a row."""
    kinds = [fields.fields[place].dataType for place in find_columns(names, fields.names)]
    for name, kind in zip(names, kinds, strict=True):
        if not is_number(kind):
            cure = cure_for_numbers(name, kind) or "; VectorAssembler also joins vectors"
            raise DataError(
                f"{WHERE}: column {name!r} must hold one number a row to be one of several "
                f"features, got {kind.simpleString()}{cure}"
            )
    return kinds


def common_type(kinds):
    """Returns the name of the Spark type that holds the values of all these types."""
    if all(isinstance(kind, IntegralType | BooleanType) for kind in kinds):
        return "bigint"  # ids stay exact
    return "float" if all(isinstance(kind, EXACT) for kind in kinds) else "double"


def name_of_join(names, taken):
    """Returns the name of the joined column, which errors show; no other column has it."""
    more = f", ... ({len(names)})" if len(names) > MOST else ""
    name = f"array({', '.join(names[:MOST])}{more})"
    while name in taken:
        name += "'"
    return name
