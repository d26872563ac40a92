"""predict and features are lazy, work partition by partition, and keep the existing columns."""

import datetime
import decimal
from types import SimpleNamespace

import numpy as np
import pyarrow
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PythonException
from pyspark.sql import Row, types
from pyspark.sql import functions as F

from sparkdl import predict_column
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Dense, Output
from sparkdl.spark import SparkNetwork
from sparkdl.spark.inference import predictions
from sparkdl.training.network import Network
from tests.spark.networks import conf_of, data, plain

PARTS = [4, 0, 7, 1]


@pytest.fixture
def net(sc):
    return SparkNetwork(sc, plain())


def parts_of(sc, wrap=tuple):
    """Returns an RDD of pairs in partitions of 4, 0, 7 and 1 records, and the features."""
    x, y = data(sum(PARTS))
    bounds = np.cumsum([0, *PARTS])
    pairs = [wrap(pair) for pair in zip(x.tolist(), y.tolist())]
    parts = [pairs[start : start + size] for start, size in zip(bounds, PARTS)]
    return sc.parallelize(parts, len(parts)).flatMap(lambda part: part), x


def counted(rdd):
    """Returns the RDD, and an accumulator that counts the records read from it."""
    seen = rdd.context.accumulator(0)

    def look(record):
        seen.add(1)
        return record

    return rdd.map(look), seen


def sizes(rdd):
    return rdd.mapPartitions(lambda part: [sum(1 for _ in part)]).collect()


@pytest.mark.parametrize("use", ["predict", "features"])
@pytest.mark.parametrize("kind", ["rdd", "frame"])
def test_nothing_is_read_until_spark_needs_it(use, kind, net, spark, sc):
    rdd, seen = counted(parts_of(sc)[0])
    schema = "features array<float>, label int"
    given = rdd if kind == "rdd" else spark.createDataFrame(rdd, schema)
    result = net.predict(given) if use == "predict" else net.features(given, ["dense_1"])
    assert seen.value == 0
    rows = result if kind == "rdd" else result.rdd
    assert sizes(rows) == PARTS
    assert seen.value == sum(PARTS)


def test_one_partition_is_computed_where_one_is_asked_for(net, sc):
    rdd, seen = counted(parts_of(sc)[0])
    assert len(net.predict(rdd).take(2)) == 2
    assert seen.value == PARTS[0]


def test_features_without_labels_are_enough(net, sc):
    x, _ = data(9)
    found = net.predict(sc.parallelize(list(x), 2)).collect()
    np.testing.assert_allclose(found, net.network.predict(x), rtol=1e-6)


def test_several_layers_at_once(net, sc):
    rdd, x = parts_of(sc)
    found = net.features(rdd, ["output_1", "dense_1", "dense_1"]).collect()
    for name, values in net.network.features(x, ["dense_1", "output_1"]).items():
        np.testing.assert_allclose([record[name] for record in found], values, rtol=1e-6, atol=1e-6)


COLUMNS = (
    "s string, t timestamp, d date, price decimal(10, 2), m map<string, int>, "
    "inner struct<u: int, v: string>, names array<string>, b binary, nothing string, "
    "features array<float>, label int"
)


def test_columns_of_any_type_are_kept(net, spark):
    first = Row(
        s="a",
        t=datetime.datetime(2020, 1, 2, 3, 4, 5),
        d=datetime.date(2020, 1, 1),
        price=decimal.Decimal("1.50"),
        m={"a": 1},
        inner=Row(u=1, v="x"),
        names=["p", None],
        b=b"zz",
        nothing=None,
        features=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        label=1,
    )
    frame = spark.createDataFrame([first] * 5, COLUMNS).repartition(3)
    found = net.predict(frame)
    assert found.columns == [*frame.columns, "prediction", "probability"]
    assert found.drop("prediction", "probability").collect() == frame.collect()


@pytest.mark.parametrize("keep, kept", [(["n", "s"], ["n", "s"]), ("s", ["s"]), ([], [])])
@pytest.mark.parametrize("use", ["predict", "features"])
def test_columns_can_be_left_behind(use, keep, kept, net, spark):
    x, _ = data(5)
    rows = [(f"row {i}", a, i) for i, a in enumerate(x.tolist())]
    frame = spark.createDataFrame(rows, "s string, features array<float>, n int")
    if use == "predict":
        whole, found = net.predict(frame), net.predict(frame, keep=keep)
    else:
        whole, found = net.features(frame, "dense_1"), net.features(frame, "dense_1", keep=keep)
    new = whole.columns[len(frame.columns) :]
    assert found.columns == [*kept, *new]
    assert found.collect() == whole.select(*kept, *new).collect()


def ask(use, net, frame, keep):
    if use == "predict":
        return net.predict(frame, keep=keep)
    if use == "features":
        return net.features(frame, "dense_1", keep=keep)
    return predict_column(frame, net, "features", "y", keep=keep)


@pytest.mark.parametrize("use", ["predict", "features", "predict_column"])
def test_what_is_left_behind_is_not_read(use, net, spark, tmp_path):
    rows = [([1.0] * 6, 1, "a")]
    wide = spark.createDataFrame(rows, "features array<float>, n int, wide string")
    wide.write.parquet(f"{tmp_path}/in")
    found = ask(use, net, spark.read.parquet(f"{tmp_path}/in"), "n")
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<features:array<float>,n:int>" in plan


@pytest.mark.parametrize("use", ["predict", "predict_column"])
def test_what_is_read_or_kept_by_name_must_be_one_column(use, net, spark):
    value, n = F.array([F.lit(1.0)] * 6).alias("features"), F.lit(1).alias("n")
    frame = spark.range(1).select("id", value, n, n)
    with pytest.raises(DataError, match="column 'n' must be there once, got 2; rename or drop"):
        ask(use, net, frame, "n")
    with pytest.raises(DataError, match="column 'features' must be there once, got 2"):
        ask(use, net, frame.select("*", value), None)


@pytest.mark.skipif(not hasattr(types, "YearMonthIntervalType"), reason="this Spark has none")
@pytest.mark.parametrize("use", ["predict", "predict_column"])
def test_a_column_that_python_is_not_given_is_named(use, net, spark):
    frame = spark.range(1).select("id", F.array([F.lit(1.0)] * 6).alias("features"))
    odd = frame.withColumn("age", F.expr("interval '1-2' year to month"))
    with pytest.raises(DataError, match="column 'age' must be of a type .*, got interval year to"):
        ask(use, net, odd, None)
    assert len(ask(use, net, odd, "id").collect()) == 1


def test_what_is_left_behind_lends_its_name(net, spark):
    frame = spark.createDataFrame([([1.0] * 6, 1)], "features array<float>, prediction int")
    assert net.predict(frame, keep=[]).columns == ["prediction", "probability"]
    with pytest.raises(ConfigError, match="must not have the columns .'prediction'. yet"):
        net.predict(frame, keep="prediction")


def test_what_to_keep_must_be_there(net, spark, sc):
    frame = spark.createDataFrame([([1.0] * 6, 1)], "features array<float>, label int")
    with pytest.raises(DataError, match="has no column 'lable'.* did you mean 'label'"):
        net.predict(frame, keep=["lable"])
    with pytest.raises(ConfigError, match="keep must be None for data that is no DataFrame, got"):
        net.predict(parts_of(sc)[0], keep=["label"])


VALUES = {
    "one value": (1, "double", lambda z: z[:, 0].tolist()),
    "two values": (2, "array<float>", lambda z: z.tolist()),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_are_predicted_as_numbers(case, spark):
    units, kind, as_python = VALUES[case]
    x, _ = data(7)
    net = SparkNetwork(spark, conf_of([Output(units=units, loss="mse")]))
    frame = spark.createDataFrame([(a,) for a in x.tolist()], "features array<float>")
    found = net.predict(frame)
    assert found.schema["prediction"].dataType.simpleString() == kind
    expected = as_python(Network(net.conf).predict(x))
    np.testing.assert_allclose([row.prediction for row in found.collect()], expected, rtol=1e-6)


def test_two_networks_predict_side_by_side(net, spark):
    x, _ = data(7)
    other = SparkNetwork(spark, plain(seed=9))
    frame = spark.createDataFrame([(a,) for a in x.tolist()], "features array<float>")
    found = other.predict(net.predict(frame), prediction="class", probability="p").collect()
    expected = net.network.predict(x), other.network.predict(x)
    np.testing.assert_allclose([row.probability for row in found], expected[0], rtol=1e-6)
    np.testing.assert_allclose([row.p for row in found], expected[1], rtol=1e-6)
    assert [row["class"] for row in found] == expected[1].argmax(axis=1).tolist()
    with pytest.raises(ConfigError, match="must not have the columns .'probability'. yet; .* give"):
        other.predict(net.predict(frame), prediction="class")
    with pytest.raises(ConfigError, match="new columns must have different names, got .'p', 'P'."):
        net.predict(frame, prediction="p", probability="P")


def test_predictions_keep_the_weights_of_their_time(net, sc):
    rdd, x = parts_of(sc)
    before, early = net.network.predict(x), net.predict(rdd)
    net.fit(rdd, epochs=2)
    np.testing.assert_allclose(early.collect(), before, rtol=1e-6)
    np.testing.assert_allclose(net.predict(rdd).collect(), net.network.predict(x), rtol=1e-6)
    assert abs(before - net.network.predict(x)).max() > 1e-3


def test_what_spark_gave_can_be_used_without_it(net, sc, tmp_path):
    rdd, x = parts_of(sc)
    net.fit(rdd)
    net.save(tmp_path / "model")
    again = SparkNetwork.load(sc, tmp_path / "model")
    np.testing.assert_array_equal(again.predict(rdd).collect(), net.predict(rdd).collect())
    alone = Network.load(tmp_path / "model")
    np.testing.assert_array_equal(alone.predict(x), net.network.predict(x))


WRONG_ROWS = {
    "frame": (3, "record 3: column 'x' must have 6 numbers, got 5"),
    "first of a frame": (0, "record 0: column 'x' must have 6 numbers, got 5"),
    "RDD": (3, "record 3: features must have 6 numbers, got 5"),
}


@pytest.mark.parametrize("case", WRONG_ROWS)
def test_the_last_line_says_which_row_has_another_width(case, net, spark, sc):
    """A lazy result raises PySpark's own error, which starts with the traceback."""
    place, said = WRONG_ROWS[case]
    rows = data(7)[0].tolist()
    rows[place].pop()
    frame = spark.createDataFrame([(a,) for a in rows], "x array<float>").coalesce(1)
    lazy = net.predict(sc.parallelize(rows, 1) if case == "RDD" else frame, features="x")
    with pytest.raises((PythonException, Py4JJavaError)) as caught:
        lazy.collect()
    text = str(caught.value).partition("\n\n")[0]  # without the JVM's own lines, if any follow
    assert text.splitlines()[-1] == f"sparkdl.errors.DataError: partition 0, {said}"
    assert "table_batch" not in text, "nor is its traceback longer than it must be"


@pytest.mark.parametrize("layers", ["dense_9", [], ["dense_1", "dense_9"]])
def test_an_unknown_layer_is_refused_at_once(layers, net, sc):
    known = r"layers must be some of \['dense_1', 'output_1'\], got "
    with pytest.raises(ConfigError, match=known):
        net.features(parts_of(sc)[0], layers)


def test_wide_outputs_are_of_a_few_rows_at_a_time(monkeypatch):
    """Each output stays beside the kept columns of its row."""
    task = SimpleNamespace(partitionId=lambda: 0)
    monkeypatch.setattr(predictions, "TaskContext", SimpleNamespace(get=lambda: task))
    x, sizes = data(20)[0], []

    def compute(batches):
        for batch in batches:
            sizes.append(len(batch))
            yield {"dense_1": batch.features * 2}

    fields = (
        types.StructType().add("id", "long").add("features", types.ArrayType(types.FloatType()))
    )
    parts = conf_of([Dense(units=2**20), Output(units=3)]), None, "features"
    new = [predictions.numbers("dense_1")]
    options = {"keep": "id", "layers": ["dense_1"]}
    extend, made = predictions.column_function(fields, *parts, new, compute, **options)
    columns = [pyarrow.array(np.arange(20)), pyarrow.array(x.tolist())]
    tables = [pyarrow.RecordBatch.from_arrays(columns, names=fields.names)] * 2
    rows = pyarrow.Table.from_batches(extend(iter(tables))).to_pydict()
    assert sizes == [7, 7, 6] * 2, "8 MB each"
    assert made.names == [*rows] and rows["id"] == [*range(20)] * 2
    np.testing.assert_array_equal(rows["dense_1"], np.concatenate([x, x]) * 2)
