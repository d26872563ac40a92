"""mapInArrow over columns that Spark cannot resolve by name."""

import numpy as np
import pytest
from py4j.java_gateway import JavaMember
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

from sparkdl import predict_column
from sparkdl.spark import SparkNetwork
from tests.spark.networks import data, plain

NAMES = ["id", "features", "x.y", "b`t", "*", "name", "name", "Name"]


@pytest.fixture(scope="module")
def frame(spark):
    rows = [(i, row, i + 0.5, "t", "s", "n", "m", "N") for i, row in enumerate(data(9)[0].tolist())]
    types = (
        "id long, features array<float>, c double, d string, e string, f string, g string, h string"
    )
    made = spark.createDataFrame(rows, types)
    noted = F.col("c").alias("c", metadata={"unit": "m"})
    return made.select("id", "features", noted, "d", "e", "f", "g", "h").toDF(*NAMES)


WAYS = {
    "predict": lambda net, frame, keep: net.predict(frame, probability="p", keep=keep),
    "features": lambda net, frame, keep: net.features(frame, "output_1", keep=keep),
    "predict_column": lambda net, frame, keep: predict_column(
        frame, net, "features", "o.p", keep=keep
    ),
}


@pytest.mark.parametrize("keep", [None, ["x.y", "id", "b`t", "*", "Name"]], ids=["all", "some"])
@pytest.mark.parametrize("way", WAYS)
def test_columns_of_any_name_go_through(way, keep, frame, sc):
    net = SparkNetwork(sc, plain())
    found = WAYS[way](net, frame, keep)
    kept = NAMES if keep is None else keep
    places = [NAMES.index(name) for name in keep] if keep else range(len(NAMES))
    assert found.columns[: len(kept)] == kept
    assert found.schema.fields[: len(kept)] == [frame.schema.fields[place] for place in places]
    assert found.schema["x.y"].metadata == {"unit": "m"}
    rows, at = found.collect(), kept.index("id")
    before = {row[0]: tuple(row[place] for place in places) for row in frame.collect()}
    assert {row[at]: tuple(row)[: len(kept)] for row in rows} == before
    y = net.network.predict(data(9)[0])
    np.testing.assert_allclose([row[-1] for row in sorted(rows, key=lambda r: r[at])], y, rtol=1e-5)


@pytest.mark.parametrize("names", [["*", "label"], ["features", "label", "Features"]], ids=str)
def test_features_of_any_name_are_trained_and_predicted_on(names, spark, sc):
    x, y = data(12)
    rows = [(row, label, 0.0)[: len(names)] for row, label in zip(x.tolist(), y.tolist())]
    types = ["features array<float>", "label int", "third float"]
    frame = spark.createDataFrame(rows, ", ".join(types[: len(names)])).coalesce(1)
    nets = [SparkNetwork(sc, plain()) for _ in range(2)]
    nets[0].fit(frame.toDF(*names), features=names[0])
    nets[1].fit(frame)
    np.testing.assert_array_equal(*(net.network.state.params for net in nets))
    found = nets[0].predict(frame.toDF(*names), features=names[0], keep=()).collect()
    p = nets[0].network.predict(x)
    np.testing.assert_allclose([row["probability"] for row in found], p, rtol=1e-5)


def test_many_columns_go_through_with_few_calls_of_the_jvm(spark, sc, monkeypatch):
    width, calls, send = 300, [], JavaMember.__call__

    def count(member, *given):
        calls.append(member)
        return send(member, *given)

    rows = spark.range(8).withColumn("x", F.expr("if(id % 3 = 0, null, id / 7)"))
    vector = array_to_vector(F.array(*[F.col("id").cast("double")] * 6)).alias("v")
    more = ((F.col("x") + n).alias(f"x{n}") for n in range(width))
    frame = rows.select("id", vector, *more)
    net = SparkNetwork(sc, plain())
    monkeypatch.setattr(JavaMember, "__call__", count)
    found = net.predict(frame, features="v")
    monkeypatch.undo()
    assert len(calls) < width
    assert found.columns[: width + 2] == frame.columns
    assert found.select(frame.columns).collect() == frame.collect()
    wanted = net.predict(frame.select("id", "v"), features="v")
    assert found.select(wanted.columns).collect() == wanted.collect()
