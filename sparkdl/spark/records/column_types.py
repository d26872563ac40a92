"""Columns as text, such as "key long, packed binary": what Arrow and Spark's SQL make of it."""

import pyarrow
from pyspark.sql.types import StructType

ALIASES = {"int": "int32", "long": "int64"}  # of Spark's types that Arrow calls otherwise


def arrow_schema(columns: str) -> pyarrow.Schema:
    """Returns the columns as Arrow has them."""
    pairs = map(str.split, columns.split(", "))
    return pyarrow.schema(
        [(name, pyarrow.type_for_alias(ALIASES.get(kind, kind))) for name, kind in pairs]
    )


def sql_schema(columns: str) -> StructType:
    """Returns the columns as Spark has them; the JVM's own parser starts slowly."""
    schema = StructType()
    for name, kind in map(str.split, columns.split(", ")):
        schema.add(name, "integer" if kind == "int" else kind)
    return schema
