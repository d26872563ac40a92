"""predict_column on Spark gives the outputs of the models themselves."""

import os
from functools import partial
from threading import Lock

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors

from sparkdl import predict_column
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.onnx import OnnxPredictor
from sparkdl.spark import SparkNetwork
from sparkdl.spark.inference.column_prediction import share
from sparkdl.training.network import Network
from tests.interop.onnx.models import drawn, expected, model, node, saved
from tests.spark.inference.shift import Shift
from tests.spark.networks import data, plain

N = 150


@pytest.fixture
def frame(spark):
    x = data(N)[0]
    rows = [(i, row, Vectors.dense(row)) for i, row in enumerate(x.tolist())]
    return spark.createDataFrame(rows, ["id", "features", "vector"]).repartition(3)


@pytest.mark.parametrize("column", ["features", "vector"])
def test_two_networks_of_one_configuration_add_their_columns(column, frame, sc):
    one, other = SparkNetwork(sc, plain()), Network(plain())
    other.fit(data(30), epochs=1)
    both = predict_column(frame, one, column, {"output_1": "p"}, batch_size=16)
    both = predict_column(
        both,
        other,
        column,
        {
            "output_1": "q",
        },
        keep=["id", "p"],
    )
    rows = sorted(both.collect())
    assert both.columns == ["id", "p", "q"] and [row.id for row in rows] == [*range(N)]
    x = data(N)[0]
    np.testing.assert_allclose([row.p for row in rows], one.network.predict(x), rtol=1e-5)
    np.testing.assert_allclose([row.q for row in rows], other.predict(x), rtol=1e-5)


@pytest.mark.parametrize("kind", ["engine", "onnxruntime"])
def test_an_onnx_file_is_computed_as_onnxruntime_does(kind, frame, tmp_path):
    made = model([node("Gemm", "x", "w")], [6], {"w": drawn(1, 6, 2)})
    path = saved(made, tmp_path)
    given = path if kind == "engine" else OnnxPredictor(path)
    rows = sorted(predict_column(frame, given, "features", "y", keep="id").collect())
    np.testing.assert_allclose([row.y for row in rows], expected(made, data(N)[0]), rtol=1e-5)


LENGTHS = [[1.0, 2.0], [3.0], [], [13.0, 1.0], None, [4.0, 5.0, 6.0]]


@pytest.fixture
def uneven(spark):
    return spark.createDataFrame([(i, x) for i, x in enumerate(LENGTHS)], "id int, x array<float>")


@pytest.mark.parametrize("on_error", ["null", "column"])
def test_rows_that_fail_are_null_and_may_say_why(on_error, uneven):
    found = predict_column(uneven, Shift(), outputs=["y", "sum"], on_error=on_error)
    rows = sorted(found.collect(), key=lambda row: row.id)
    assert [row.y for row in rows] == [[2, 3], [4], [], None, None, [5, 6, 7]]
    assert [row.sum for row in rows] == [3, 3, 0, None, None, 15]
    assert found.columns == ["id", "x", "y", "sum"] + ["error"] * (on_error == "column")
    if on_error == "column":
        errors = [row.error for row in rows]
        assert [error is None for error in errors] == [True, True, True, False, False, True]
        assert errors[3] == "ValueError: 13 is not computed"
        assert errors[4] == "column 'x' must have a value, got null"


def test_a_row_that_fails_is_named(uneven):
    with pytest.raises(Exception, match=r"partition 0, record 3: ValueError: 13 is not computed"):
        predict_column(uneven.coalesce(1), Shift()).collect()


def test_prepare_makes_inputs_of_texts(spark):
    def prepare(columns):
        return {"x": [[float(len(word)) for word in text.split()] for text in columns["text"]]}

    frame = spark.createDataFrame([("a bc",), ("def gh i",)], ["text"]).coalesce(1)
    found = predict_column(frame, Shift(), outputs=["sum"], prepare=prepare)
    assert [row["sum"] for row in found.collect()] == [3, 6]


def test_an_empty_frame_keeps_its_columns(spark):
    frame = spark.createDataFrame([], "x array<float>")
    found = predict_column(frame, Shift())
    assert found.columns == ["x", "y", "sum"] and found.collect() == []


REFUSED = [
    ("option", {"on_error": "drop"}, ConfigError, "on_error must be one of"),
    ("batch", {"batch_size": 0}, ConfigError, "batch_size must be an integer >= 1, got 0"),
    ("input", {"inputs": {"z": "x"}}, ConfigError, r"inputs must be those of the model, \['x'\]"),
    ("column", {"inputs": "xs"}, DataError, "has no column 'xs'"),
    ("texts", {"inputs": "text"}, DataError, "got string; prepare makes inputs"),
    ("output", {"outputs": ["z"]}, ConfigError, "outputs must be some of"),
    ("which output", {"outputs": "z"}, ConfigError, "outputs must be some of"),
    ("taken", {"outputs": {"y": "X"}}, ConfigError, "must not have the columns"),
    ("both", {"inputs": "x", "prepare": dict}, ConfigError, "inputs must be None where prepare"),
    ("lock", {"prepare": partial(dict, x=Lock())}, ConfigError, "prepare.*must travel to the"),
    ("kept", {"keep": "z"}, DataError, "has no column 'z'"),
    ("a list", {"inputs": ["x"]}, ConfigError, r"inputs must be the name of a .*, got \['x'\]"),
    ("no column", {"inputs": {"x": None}}, ConfigError, "inputs must be the name of a column"),
    ("inputs", {"inputs": 5}, ConfigError, "inputs must be the name of a column or .*, got 5"),
    ("outputs", {"outputs": 5}, ConfigError, "outputs must be a name, several .*, got 5"),
    ("no output", {"outputs": []}, ConfigError, r"outputs must be some of .*, got \[\]"),
    ("no name", {"outputs": {"y": None}}, ConfigError, "outputs must be names or {output: name"),
    ("keep", {"keep": 5}, ConfigError, "keep must be a name, several names or None, got 5"),
    ("keeps", {"keep": [None]}, ConfigError, "keep must be a name, several names or None"),
    ("error", {"on_error": "column", "error": None}, ConfigError, "error must be a name, got None"),
    ("prepare", {"prepare": "x"}, ConfigError, "prepare must be a function or None, got 'x'"),
    ("frame", {"frame": [1]}, ConfigError, r"frame must be a DataFrame of Spark, got \[1\]"),
]


@pytest.mark.parametrize(
    ("options", "error", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_wrong_options_are_refused_before_a_job(options, error, says, spark):
    frame = spark.createDataFrame([([1.0], "a")], "x array<float>, text string")
    with pytest.raises(error, match=says):
        predict_column(**{"frame": frame, "model": Shift()} | options)


def test_an_unchanged_model_is_sent_once(frame, sc):
    """Otherwise a stream would fill the driver's disk, because lazy results are never released."""
    network, before, new = Network(plain()), set(os.listdir(sc._temp_dir)), []
    for change in (False, False, False, True, False):
        network.state.params[:2] += change
        predict_column(frame, network, "features")
        files = set(os.listdir(sc._temp_dir))
        new.append(len(files - before))
        before |= files
    assert new[1:] == [0, 0, 1, 0]


def test_a_stream_gets_its_columns(spark, uneven, tmp_path):
    uneven.where("id < 3").coalesce(1).write.parquet(f"{tmp_path}/in")
    stream = spark.readStream.schema(uneven.schema).parquet(f"{tmp_path}/in")
    added = predict_column(stream, Shift(), outputs={"sum": "total"})
    query = added.writeStream.format("memory").queryName("totals").trigger(availableNow=True)
    query.start().awaitTermination(200)
    assert sorted(row.total for row in spark.table("totals").collect()) == [0, 3, 3]


class ConnectFrame:
    """A stub that is recognized as a DataFrame of Spark Connect."""

    __module__ = "pyspark.sql.connect.dataframe"


def test_what_cannot_travel_over_connect_is_refused():
    lock, value = Lock(), np.ones(3)
    assert share(ConnectFrame(), value).kept_value is value
    with pytest.raises(ConfigError, match=r"must travel to the executors, .*lock"):
        share(ConnectFrame(), (None, lambda rows: (lock, rows)))
