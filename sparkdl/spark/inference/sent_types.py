"""Result types that Spark sends to executors, without the modules of their Python classes.

Spark sends a function with its result type. A worker that unpickles pyspark.ml's VectorUDT loads
pyspark.ml, which takes a quarter of a second, although Arrow only needs the type of its storage.
"""

from copy import copy
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
)


class SentType(UserDefinedType):
    """A user-defined type for the schema of a function; its pickle is the type of its storage."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def jsonValue(self) -> Any:
        return self._kind.jsonValue()

    def sqlType(self) -> DataType:  # type: ignore[override]
        return self._kind.sqlType()

    def __reduce__(self) -> tuple[Any, ...]:
        return copy, (self.sqlType(),)


def hide_classes(fields: StructType) -> StructType:
    """Returns the same schema, whose pickle names no user-defined types."""
    return StructType(
        [
            StructField(one.name, hide_class(one.dataType), one.nullable, one.metadata)
            for one in fields
        ]
    )


def hide_class(kind: DataType) -> DataType:
    if isinstance(kind, UserDefinedType):
        return SentType(kind)
    if isinstance(kind, ArrayType):
        return ArrayType(hide_class(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, hide_class(kind.valueType), kind.valueContainsNull)
    return hide_classes(kind) if isinstance(kind, StructType) else kind
