"""Result types are the same for Spark, and no Python classes in what executors get."""

import pickle

import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import MatrixUDT, VectorUDT
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType

from sparkdl.spark.inference.arrow_map import map_in_arrow
from sparkdl.spark.inference.sent_types import hide_classes

KINDS = {
    "numbers": (LongType(), LongType()),
    "vectors": (VectorUDT(), VectorUDT.sqlType()),
    "matrices": (MatrixUDT(), MatrixUDT.sqlType()),
    "lists of vectors": (ArrayType(VectorUDT(), False), ArrayType(VectorUDT.sqlType(), False)),
    "maps of vectors": (
        MapType(StringType(), VectorUDT(), False),
        MapType(StringType(), VectorUDT.sqlType(), False),
    ),
    "structs of vectors": (
        StructType([StructField("v", VectorUDT(), False), StructField("s", StringType())]),
        StructType([StructField("v", VectorUDT.sqlType(), False), StructField("s", StringType())]),
    ),
}


@pytest.mark.parametrize("kind, storage", KINDS.values(), ids=KINDS)
def test_executors_get_the_type_of_the_storage(kind, storage):
    fields = StructType([StructField("x", kind, False, {"ml_attr": {"num_attrs": 3}})])
    sent = hide_classes(fields)
    assert sent.json() == fields.json(), "the JVM gets the same"
    [received] = pickle.loads(pickle.dumps(sent))
    assert received == StructField("x", storage, False, {"ml_attr": {"num_attrs": 3}})
    assert b"pyspark.ml" not in pickle.dumps(sent)


def test_results_are_vectors_again(spark):
    frame = spark.createDataFrame([([1.0, 2.0],), ([3.0, 4.0],)], "x array<double>").coalesce(1)
    frame = frame.select(array_to_vector("x").alias("x"))
    found = map_in_arrow(frame, lambda tables: tables, frame.schema)
    assert found.schema == frame.schema
    assert found.collect() == frame.collect()
