"""Arrow and Spark schemas from text such as "key long, packed binary"."""

import pyarrow
from pyspark.sql.types import StructType

ALIASES = {"int": "int32", "long": "int64"}  # Arrow's names of Spark's types, where they differ


def arrow_schema(columns: str) -> pyarrow.Schema:
    """Returns the Arrow schema of the columns."""
    pairs = map(str.split, columns.split(", "))
    return pyarrow.schema(
        [(name, pyarrow.type_for_alias(ALIASES.get(kind, kind))) for name, kind in pairs]
    )


def sql_schema(columns: str) -> StructType:
    """Returns the Spark schema of the columns; the JVM's own parser starts slowly."""
    schema = StructType()
    for name, kind in map(str.split, columns.split(", ")):
        schema.add(name, "integer" if kind == "int" else kind)
    return schema
