"""Columns of weights: which of those that a user named the records have."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from sparkdl.data.records.rows import column_names
from sparkdl.errors import DataError
from sparkdl.spark.jobs.slots import is_true

Weights = str | Mapping[str, str] | None  # a column, or {column of labels: column}
CASES = "spark.sql.caseSensitive"


def known_weights(weights, is_known):
    """Returns the Weights of columns whose names `is_known` accepts, or None."""
    if isinstance(weights, Mapping):
        return {of: name for of, name in weights.items() if is_known(name)} or None
    return weights if weights is not None and is_known(weights) else None


def has_column(frame, name):
    """Returns whether a DataFrame has a column, as Spark looks it up; see `has_name`."""
    return has_name(frame.columns, name, is_true(frame.sparkSession.conf.get(CASES)))


def has_name(names, name, exact):
    """Returns whether `name` is one of `names`, in any case unless `exact`.

    A name in another case is refused later, rather than taken for none.
    """
    return name in names or (not exact and name.lower() in (str(one).lower() for one in names))


def tells_cases_apart():
    """Returns whether names that differ in case are different ones for Spark: by default not."""
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    return session is not None and is_true(session.conf.get(CASES))


def names_of(weights):
    """Returns the columns of Weights."""
    return weights.values() if isinstance(weights, Mapping) else filter(None, [weights])


def without_columns(rows, lacked, has, partition):
    """Yields the rows after a partition's first; raises DataError for one with a `lacked` column.

    Parameters
    ----------
    lacked : set of str
    has : see `records_of`
    """
    seen = None
    for number, row in enumerate(rows, 1):
        columns = column_names(row) or ()
        if columns != seen and (strange := [name for name in lacked if has(columns, name)]):
            raise DataError(
                f"partition {partition}, record {number}: must have no column {min(strange)!r}, as "
                "record 0 has none; give it to all records, or to none"
            )
        seen = columns
        yield row
