"""Networks as UDFs, through Arrow and pandas: refused rows and their messages."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql.types import StructField, StructType

from sparkdl.errors import ConfigError
from sparkdl.layers import LSTM, Dense, LastTimeStep, Merge, Output
from sparkdl.ml import SparkNetworkClassificationModel, SparkNetworkRegressionModel
from sparkdl.nn import GraphBuilder, NetworkConf
from sparkdl.spark.inference import column_udf
from sparkdl.spark.inference.column_udf import HAS_ARROW_UDFS, VECTOR, as_arrow, has_arrow_udfs
from sparkdl.spark.inference.predictions import arrow_column
from sparkdl.training.network import Network

NAN = float("nan")
PATHS = [True, False] if HAS_ARROW_UDFS else [False]
VECTORS = StructType([StructField("features", VectorUDT())])
LISTS, NESTED = "features array<double>", "features array<array<double>>"


def numbers_model():
    conf = NetworkConf(input_shape=(1,), layers=[Output(units=1, loss="mse")], seed=1)
    return SparkNetworkRegressionModel(Network(conf))


def lists_model():
    layers = [Dense(units=4, activation="tanh"), Output(units=3)]
    conf = NetworkConf(input_shape=(3,), layers=layers, seed=1)
    return SparkNetworkClassificationModel(Network(conf))


def sequences_model():
    layers = [LSTM(units=4), LastTimeStep(), Output(units=2)]
    return SparkNetworkClassificationModel(
        Network(NetworkConf(input_shape=(5, 2), layers=layers, seed=1))
    )


def pairs_model():
    graph = GraphBuilder(a=(2,), b=(3,))
    graph.add(Merge(), "a", "b")
    graph.add(Output(units=2))
    return SparkNetworkClassificationModel(Network(graph.conf(seed=1)))


@pytest.fixture(params=PATHS, ids=lambda arrow: "arrow" if arrow else "pandas")
def path(request, monkeypatch):
    """Makes UDFs read their columns through Arrow or through pandas."""
    monkeypatch.setattr(column_udf, "HAS_ARROW_UDFS", request.param)


def told(frame):
    """Returns the error message of the job from the record number on."""
    with pytest.raises(PythonException) as caught:
        frame.collect()
    text = str(caught.value)
    return text[text.index("record ") :].splitlines()[0]


# Rows that cannot be predicted


ODD_ROWS = {
    "nan": (numbers_model, "features double", [1.0, NAN], "must be finite, got nan at 0"),
    "nan in a list": (lists_model, LISTS, [[1.0] * 3, [1.0, NAN, 3.0]], "got nan at 1"),
    "nan in a vector": (lists_model, VECTORS, [Vectors.dense(1, NAN, 3)], "got nan at 1"),
    "nan in a sequence": (sequences_model, NESTED, [[[1.0, NAN], [1.0, 2.0]]], "finite, got nan"),
    "null list": (lists_model, LISTS, [[1.0] * 3, None], "must have a value, got null"),
    "null step": (sequences_model, NESTED, [[[1.0, 2.0], None]], "got null"),
}
NULL_NUMBERS = {  # NaN in pandas
    "null": (numbers_model, "features double", [1.0, None], "must have a value, got null"),
    "null integer": (numbers_model, "features int", [1, None], "must have a value, got null"),
    "null in a list": (lists_model, LISTS, [[1.0] * 3, [1.0, None, 3.0]], "got null"),
    "null in a sequence": (sequences_model, NESTED, [[[1.0, None]]], "got null"),
}


@pytest.fixture(scope="module")
def check_told(spark):
    """Returns a function that checks what the UDF of a case tells."""
    cases = ODD_ROWS | NULL_NUMBERS

    @cache  # a job that fails takes seconds
    def told_by_transform(case):
        model, frame = make(case)
        return told(model.transform(frame))

    def make(case):
        model, kind, values, _ = cases[case]
        return model(), spark.createDataFrame([(value,) for value in values], kind).coalesce(1)

    def check(case):
        model, frame = make(case)
        found = told(frame.select(model.udf()("features")))
        assert cases[case][-1] in found
        assert found == told_by_transform(case)

    return check


@pytest.mark.parametrize("case", ODD_ROWS)
def test_a_udf_tells_what_transform_tells(case, check_told, path):
    check_told(case)


@pytest.mark.skipif(not HAS_ARROW_UDFS, reason="this Spark has UDFs of pandas alone")
@pytest.mark.parametrize("case", NULL_NUMBERS)
def test_a_udf_of_arrow_tells_nulls_among_numbers(case, check_told):
    check_told(case)


@pytest.mark.skipif(not HAS_ARROW_UDFS, reason="this Spark has UDFs of pandas alone")
def test_an_empty_sequence_alone_is_predicted_as_by_transform(spark):
    model, frame = sequences_model(), spark.createDataFrame([([],)], NESTED).coalesce(1)
    [found] = frame.select(model.udf("probability")("features").alias("p")).collect()
    [expected] = model.transform(frame).collect()
    np.testing.assert_array_equal(found.p, expected.probability.toArray())


@pytest.mark.parametrize("server", ["4.0.2", "3.5.6-amzn-1", "4.1.0", "10.0.0"])
def test_an_older_server_of_spark_connect_gets_udfs_of_pandas(server):
    is_older = server.startswith(("4.0", "3."))
    assert has_arrow_udfs(SimpleNamespace(version=server)) is (HAS_ARROW_UDFS and not is_older)


# Columns


COUNTS = {
    "none": (lists_model, (), r"columns must be 1, .* \['features'\], got 0; give"),
    "two for one": (lists_model, ("x", "y"), r"columns must be 1, .* \['features'\], got 2; give"),
    "one for two": (pairs_model, ("x",), r"columns must be 2, .* \['a', 'b'\], got 1; give"),
}


@pytest.mark.parametrize("case", COUNTS)
def test_another_number_of_columns_is_refused_before_a_job(case, spark):
    make, columns, message = COUNTS[case]
    with pytest.raises(ConfigError, match=message):
        make().udf()(*columns)


def test_sql_tells_another_number_of_columns(spark, path):
    spark.udf.register("counted", lists_model().udf())
    with pytest.raises(PythonException, match=r"columns must be 1, .* \['features'\], got 2; give"):
        spark.sql("SELECT counted(array(1.0D), array(2.0D))").collect()


def test_a_column_for_each_input(spark, path):
    model, rng = pairs_model(), np.random.default_rng(0)
    a, b = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    frame = spark.createDataFrame(
        [*zip(a.tolist(), b.tolist())], "a array<double>, b array<double>"
    )
    found = frame.coalesce(1).select(model.udf("probability")("a", "b").alias("p")).collect()
    expected = model.network.predict({"a": a, "b": b})
    np.testing.assert_allclose([row.p for row in found], expected, rtol=1e-5)


# Arrays


def test_pandas_keeps_nan_and_nulls_apart_where_it_can():
    assert as_arrow(pd.Series([1.0, NAN])).null_count == 0
    lists = as_arrow(pd.Series([np.array([1.0, NAN]), None]))
    assert (lists.null_count, lists.flatten().null_count) == (1, 0)
    nested = as_arrow(pd.Series([np.array([np.array([1.0, NAN]), None], object)]))
    assert (nested.flatten().null_count, nested.flatten().flatten().null_count) == (1, 0)


def test_pandas_has_vectors_as_a_frame():
    values = [np.array([1.0, NAN]), np.array([2.0]), None]
    places = [None, np.array([1]), None]
    fields = [[1, 0, None], [None, 4, None], places, values]
    vectors = as_arrow(pd.DataFrame(dict(zip(VECTOR, fields, strict=True))))
    assert vectors.is_null().to_pylist() == [False, False, True]
    assert vectors.field("size").to_pylist() == [None, 4, None]
    assert vectors.field("values").null_count == 1
    assert vectors.field("values").flatten().null_count == 0


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 4)])
def test_arrays_become_columns_of_spark_s_type(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    kind = pa.float64() if len(shape) == 1 else pa.list_(pa.float64())
    column = arrow_column(array, kind)
    assert column.type == kind
    assert column.to_pylist() == array.reshape(3, -1).squeeze().tolist()
