"""DataFrame.mapInArrow, also where its result has vectors of pyspark.ml, or structs.

The Python half of Spark 3.4 refuses them; its JVM does not. From 3.5 on both take them.
"""

from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType
from pyspark.sql.udf import UserDefinedFunction, _wrap_function

TAKES_VECTORS = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (3, 5)
MAP_IN_ARROW = 207  # PythonEvalType.SQL_MAP_ARROW_ITER_UDF


def map_in_arrow(frame: Any, function: Any, fields: StructType) -> Any:
    """Returns the DataFrame of these fields that `function` makes of a frame's Arrow tables."""
    if TAKES_VECTORS:
        return frame.mapInArrow(function, fields)
    column = UncheckedFunction(function, returnType=fields, evalType=MAP_IN_ARROW)(
        *(frame[name] for name in frame.columns)
    )
    mapped = frame._jdf.pythonMapInArrow(column._jc.expr())
    return DataFrame(mapped, frame.sparkSession)


class UncheckedFunction(UserDefinedFunction):
    """A function whose result Spark 3.4 does not look at, on the driver nor in a task."""

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
