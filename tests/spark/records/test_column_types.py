"""Column types written as text mean the same to us as to Spark's parser, and the same to Arrow."""

import pyarrow
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import _parse_datatype_string

from sparkdl.spark.connect import packed_frame
from sparkdl.spark.records import records, stored_partition
from sparkdl.spark.records.column_types import arrow_schema, sql_schema

COLUMNS = [
    packed_frame.COLUMNS,
    records.PACKED_COLUMNS,
    stored_partition.COLUMNS,
    "one int, two double",
]


@pytest.mark.parametrize("columns", COLUMNS)
def test_they_are_what_spark_reads(columns, spark):
    assert sql_schema(columns) == _parse_datatype_string(columns)
    assert arrow_schema(columns).equals(to_arrow_schema(sql_schema(columns)))
    assert isinstance(arrow_schema(columns), pyarrow.Schema)
