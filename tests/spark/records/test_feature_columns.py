"""Several columns of a DataFrame as features, without a VectorAssembler."""

import gc
from decimal import Decimal

import numpy as np
import pytest
from py4j.java_gateway import JavaMember
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import functions as F

from sparkdl import Dense, LocalSGD, NetworkConf, Output, SparkNetwork
from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import LSTM, EmbeddingSequence, GlobalPool
from sparkdl.spark.records.data_identity import identify, is_gone
from sparkdl.spark.records.feature_columns import common_type, join_features, require_column_name
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.inputs.schema import schema_of
from tests.support.bus import told_all

CONF = NetworkConf(input_shape=(3,), layers=[Dense(units=4), Output(units=2)], seed=1)


@pytest.fixture(scope="module")
def frame(spark):
    rows = [(i, i / 7, -float(i % 5), bool(i % 3), i % 2) for i in range(60)]
    return spark.createDataFrame(rows, "id int, a float, b double, `c.d` boolean, label int")


NAMES = ["b", "c.d", "a"]


def network(sc, conf=CONF):
    return SparkNetwork(sc, conf, LocalSGD(workers=2, batch_size_per_worker=5))


def assembled(frame):
    plain = frame.toDF("id", "a", "b", "c", "label")
    return VectorAssembler(inputCols=["b", "c", "a"], outputCol="features").transform(plain)


def test_columns_train_as_their_vector_does(spark, frame):
    listed, joined = network(spark.sparkContext), network(spark.sparkContext)
    listed.fit(frame, 2, frame, features=NAMES)
    joined.fit(assembled(frame), 2, assembled(frame))
    np.testing.assert_array_equal(listed.network.state.params, joined.network.state.params)
    ours = listed.evaluate(frame, features=NAMES)
    assert ours.loss == joined.evaluate(assembled(frame)).loss
    assert listed.score(frame, features=NAMES) == ours.loss


def test_predictions_keep_the_columns_of_the_data(spark, frame):
    net = network(spark.sparkContext)
    wanted = [row.probability for row in net.predict(assembled(frame)).orderBy("id").collect()]
    predicted = net.predict(frame, features=NAMES)
    assert predicted.columns == [*frame.columns, "prediction", "probability"]
    assert [row.probability for row in predicted.orderBy("id").collect()] == wanted
    assert net.predict(frame, features=NAMES, keep="id").columns == [
        "id",
        "prediction",
        "probability",
    ]
    losses = net.score_examples(frame, features=NAMES)
    assert losses.columns == [*frame.columns, "loss"]
    mean = losses.agg(F.mean("loss")).first()[0]
    assert mean == pytest.approx(net.score(frame, features=NAMES), rel=1e-6)
    [layer] = net.features(frame, ["dense_1"], features=NAMES).columns[len(frame.columns) :]
    assert layer == "dense_1"


def test_many_columns_take_few_calls_of_the_jvm(spark, monkeypatch):
    width, calls = 300, []
    frame = spark.range(4).selectExpr(*(f"{n} + id as c{n}" for n in range(width)))
    names, send = [f"c{n}" for n in range(1, width)], JavaMember.__call__

    def count(member, *given):
        calls.append(member)
        return send(member, *given)

    monkeypatch.setattr(JavaMember, "__call__", count)
    joined, name = join_features(frame, names)
    monkeypatch.undo()
    assert len(calls) < width / 10
    assert joined.columns[-1] == name and joined.first()[-1] == list(range(1, width))


def test_rows_of_the_driver_are_known_as_long_as_the_frame_of_the_user_lives(spark):
    frame = spark.createDataFrame(
        [(1.0, 2.0, 3.0, 0)] * 9, "a double, b double, c double, label int"
    )
    schema, names = schema_of(CONF), ["a", "b", "c"]
    first = identify(SparkRecords(frame, names), schema)
    assert first == identify(SparkRecords(frame, names), schema) and not is_gone(first)
    del frame
    gc.collect()
    assert is_gone(first)


def test_integers_stay_exact(spark):
    ids = [(2**24 + 1, 5), (7, 2**24 + 3)]
    frame = spark.createDataFrame(ids, "first long, second int")
    data, name = join_features(frame, ["second", "first"])
    assert [row[name] for row in data.collect()] == [[5, 2**24 + 1], [2**24 + 3, 7]]


def test_columns_of_ids(spark):
    layers = [EmbeddingSequence(vocabulary_size=9, units=2), GlobalPool(kind="avg")]
    conf = NetworkConf(input_shape=(2,), layers=[*layers, Output(units=2)])
    frame = spark.createDataFrame([(8, 0, 1), (3, 4, 0)] * 5, "first int, second int, label int")
    net = network(spark.sparkContext, conf)
    net.fit(frame, 1, features=["first", "second"])
    predicted = net.predict(frame, features=["first", "second"], keep=[]).distinct().count()
    assert predicted == 2


SEQUENCES = {
    "ids": ((4,), EmbeddingSequence(vocabulary_size=9, units=2)),
    "numbers": ((4, 1), LSTM(units=2)),
}


@pytest.mark.parametrize("kind", SEQUENCES)
def test_columns_may_be_fewer_than_the_steps_of_a_sequence(kind, spark):
    shape, layer = SEQUENCES[kind]
    layers = [layer, GlobalPool(kind="avg"), Output(units=2)]
    frame = spark.createDataFrame([(8, 0, 1), (3, 4, 0)] * 5, "first int, second int, label int")
    as_list = frame.select(F.array("first", "second").alias("features"), "label")
    states = []
    for data, names in ((frame, ["first", "second"]), (as_list, "features")):
        net = network(spark.sparkContext, NetworkConf(input_shape=shape, layers=layers, seed=1))
        net.fit(data, 1, features=names)
        states.append(net.network.state.params)
    np.testing.assert_array_equal(*states)


def test_names_that_spark_does_not_find(spark):
    frame = spark.createDataFrame([(1.0, 2.0, 3.0)], "x double, y double, z double")
    frame = frame.toDF("X", "x", "a`b.c")
    data, name = join_features(frame, ["a`b.c", "x", "X"])
    assert data.columns == ["X", "x", "a`b.c", name]
    assert data.collect()[0][3] == [3.0, 2.0, 1.0]


def test_a_name_like_a_variable_of_spark(spark):
    frame = spark.createDataFrame([(1.0, 2.0)], "`${env:HOME}` double, y double")
    data, _ = join_features(frame, ["y", "${env:HOME}"])
    assert data.collect()[0][2] == [2.0, 1.0]


def test_many_columns_have_a_short_name(spark):
    frame = spark.range(1).select(*(F.lit(1.0).alias(f"c{i}") for i in range(200)))
    data, name = join_features(frame, frame.columns)
    assert name == "array(c0, c1, c2, c3, ... (200))"
    again, other = join_features(data, frame.columns)
    assert other == name + "'"
    assert len(again.first()[other]) == 200


def test_a_null_is_an_error_that_names_the_columns(spark):
    frame = spark.createDataFrame(
        [(1.0, 2.0, 3.0, 0), (1.0, None, 3.0, 1)] * 4, "a double, b double, c double, label int"
    )
    with pytest.raises(DataError, match=r"array\(a, b, c\).*null at position 1, from 0"):
        network(spark.sparkContext).fit(frame, 1, features=["a", "b", "c"])


TYPES = {
    "float": "float",
    "float,tinyint,smallint,boolean": "float",
    "float,int": "double",
    "double,float": "double",
    "decimal(5,2),float": "double",
    "int,bigint,boolean": "bigint",
}


@pytest.mark.parametrize("kinds", TYPES)
def test_the_common_type_holds_all_values(kinds, spark):
    of_each = kinds.replace("5,2", "5|2").split(",")
    made = spark.range(1).select(
        *(F.lit(1).cast(kind.replace("|", ",")).alias(f"c{i}") for i, kind in enumerate(of_each))
    )
    assert common_type([field.dataType for field in made.schema]) == TYPES[kinds]


def test_decimals_become_numbers(spark):
    frame = spark.createDataFrame([(Decimal("1.25"), 2.5)], "a decimal(5,2), b float")
    data, name = join_features(frame, ["a", "b"])
    assert data.first()[name] == [1.25, 2.5]


WRONG = {
    "none": ([], ConfigError, r"each named once, got \[\]"),
    "one twice": (["a", "a"], ConfigError, "each named once"),
    "a number": (3, ConfigError, "must be a column, or columns"),
    "not names": (["a", 3], ConfigError, "must be a column, or columns"),
    "a set": ({"a", "b"}, ConfigError, "must be a column, or columns"),
    "a column that is not there": (
        ["a", "texts"],
        DataError,
        "no column 'texts'.*did you mean 'text'",
    ),
    "texts": (["a", "text"], DataError, "'text' must hold one number a .*string; StringIndexer"),
    "vectors": (["a", "list"], DataError, "'list' must hold one number a row.*VectorAssembler"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_columns_are_refused_before_a_job(name, spark):
    frame = spark.createDataFrame(
        [(1.0, 2.0, "x", [1.0], 0)],
        "a double, b double, text string, list array<double>, label int",
    )
    features, kind, message = WRONG[name]
    for use in ("fit", "evaluate", "predict"):
        with pytest.raises(kind, match=message):
            getattr(network(spark.sparkContext), use)(frame, features=features)


@pytest.mark.parametrize("use", ["fit", "evaluate", "predict", "score_examples"])
def test_another_number_of_columns_is_refused_before_a_job(use, spark, frame):
    sc = spark.sparkContext
    sc.setJobGroup("widths", "")
    with pytest.raises(DataError, match=r"'array\(a, b\)' must have 3 numbers, got 2"):
        getattr(network(sc), use)(frame, features=["a", "b"])
    assert not told_all(sc).statusTracker().getJobIdsForGroup("widths")
    sc.setLocalProperty("spark.jobGroup.id", None)


def test_other_data_has_one_column_of_features(spark):
    rdd = spark.sparkContext.parallelize([([1.0, 2.0, 3.0], 0)])
    with pytest.raises(ConfigError, match="one column for data that is no DataFrame"):
        network(spark.sparkContext).fit(rdd, 1, features=["a", "b"])


def test_a_search_takes_one_column():
    require_column_name("features")
    with pytest.raises(ConfigError, match="one column.*VectorAssembler"):
        require_column_name(["a", "b"])
