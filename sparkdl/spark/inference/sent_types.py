"""Result types of functions that Spark sends to executors, without the modules of their Python
classes.

Spark sends a function with its result type. A worker that unpickles pyspark.ml's VectorUDT loads
pyspark.ml, which takes a quarter of a second, although Arrow only needs the type of its storage.
"""

from typing import Any

from pyspark.sql.types import ArrayType, DataType, StructField, StructType, UserDefinedType


class SentType(UserDefinedType):
    """A user-defined type for a schema on the driver; its pickle is the type of its storage."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def jsonValue(self) -> Any:
        return self._kind.jsonValue()

    def sqlType(self) -> DataType:  # type: ignore[override]
        return self._kind.sqlType()

    def __reduce__(self) -> tuple[Any, ...]:
        return as_given, (self.sqlType(),)


def as_given(kind: DataType) -> DataType:
    return kind


def sent_fields(fields: StructType) -> StructType:
    """Returns the same schema, whose pickle names no user-defined types."""
    return StructType(
        [
            StructField(one.name, sent_type(one.dataType), one.nullable, one.metadata)
            for one in fields
        ]
    )


def sent_type(kind: DataType) -> DataType:
    if isinstance(kind, UserDefinedType):
        return SentType(kind)
    if isinstance(kind, ArrayType):
        return ArrayType(sent_type(kind.elementType), kind.containsNull)
    return sent_fields(kind) if isinstance(kind, StructType) else kind
