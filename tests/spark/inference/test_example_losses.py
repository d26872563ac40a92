"""Losses of single records on Spark are those of a replica; rows and their order stay."""

import numpy as np
import pytest
from pyspark.errors import PythonException

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from sparkdl.training.network import Network
from tests.spark.networks import FEATURES, arrays, data, plain

N = 23


@pytest.fixture
def net(sc):
    return SparkNetwork(sc, plain())


def rows():
    return [(n, x.tolist(), int(y)) for n, (x, y) in enumerate(zip(*data(N), strict=True))]


def frame(spark, columns="id int, features array<float>, label int"):
    return spark.createDataFrame(spark.sparkContext.parallelize(rows(), 3), columns)


def expected(net):
    """Returns Replica.losses of all records at once."""
    replica = net.network._load()
    [batch] = net.network._batches(arrays(N, records_per_split=N), labels=True)
    return replica.losses(batch)[1]


def test_a_dataframe_gets_a_column(net, spark):
    found = net.score_examples(frame(spark))
    assert found.dtypes == [*frame(spark).dtypes, ("loss", "double")]
    got = found.collect()
    assert [(row.id, row.features, row.label) for row in got] == rows()
    np.testing.assert_allclose([row.loss for row in got], expected(net), rtol=1e-6)
    assert np.mean([row.loss for row in got]) == pytest.approx(net.score(frame(spark)))
    named = net.score_examples(frame(spark), loss="l", keep="id").collect()
    assert named[5].asDict() == {"id": 5, "l": got[5].loss}


@pytest.mark.parametrize("kind", ["RDD", "source"])
def test_others_give_numbers_in_order(kind, net, sc):
    pairs = sc.parallelize([(x, y) for _, x, y in rows()], 4)
    found = net.score_examples(pairs if kind == "RDD" else arrays(N, records_per_split=5))
    got = found.collect()
    np.testing.assert_allclose(got, expected(net), rtol=1e-6)
    assert all(type(loss) is float for loss in got)
    with pytest.raises(ConfigError, match="keep must be None for data that is no DataFrame"):
        net.score_examples(pairs, keep="id")
    with pytest.raises(ConfigError, match="on_error must be 'raise' for data that is no DataFrame"):
        net.score_examples(pairs, on_error="null")


def test_one_process_gives_the_same(net):
    assert net.network.score_examples(data(N)).tolist() == expected(net).tolist()


def test_an_autoencoder_finds_what_is_unlike_the_rest(sc, spark):
    layers = [Dense(units=3), Output(units=FEATURES, loss="mse")]
    net = SparkNetwork(sc, NetworkConf(input_shape=(FEATURES,), layers=layers, seed=1))
    x, _ = data(N)
    x[7] *= 100
    given = spark.createDataFrame([(row.tolist(),) for row in x], "features array<float>")
    found = [row.loss for row in net.score_examples(given, label="features").collect()]
    y = Network(net.conf).predict(x)
    np.testing.assert_allclose(found, ((x - y) ** 2).mean(axis=1), rtol=1e-5)
    assert int(np.argmax(found)) == 7


def test_a_null_label_is_named(net, spark):
    broken = [*rows()[:4], (4, rows()[4][1], None)]
    given = spark.createDataFrame(broken, frame(spark).schema).coalesce(1)
    says = "DataError: partition 0, record 4: column 'label' must have a value, got null"
    with pytest.raises(PythonException, match=says):
        net.score_examples(given).collect()


def holes(spark):
    """Returns rows of which some cannot be used, and why they cannot."""
    given = [[n, x, y] for n, x, y in rows()]
    given[0][2] = given[7][2] = None
    given[4][1] = [1.0]
    given[11][2] = 99
    why = {
        0: "column 'label' must have a value, got null",
        4: "column 'features' must have",
        7: "column 'label' must have a value, got null",
        11: "99",
    }
    made = spark.createDataFrame(spark.sparkContext.parallelize(given, 3), frame(spark).schema)
    return made, why


@pytest.mark.parametrize("on_error", ["null", "column"])
def test_rows_that_cannot_be_used_have_no_loss_and_may_say_why(on_error, net, spark):
    given, why = holes(spark)
    found = net.score_examples(given, on_error=on_error, keep="id")
    more = [("error", "string")] if on_error == "column" else []
    assert found.dtypes == [("id", "int"), ("loss", "double"), *more]
    got, losses = found.collect(), expected(net)
    assert [row.id for row in got] == list(range(N))
    for row in got:
        if row.id in why:
            assert row.loss is None
        else:
            assert row.loss == pytest.approx(losses[row.id], rel=1e-5)
        if on_error == "column":
            assert (row.error is None) == (row.id not in why)
            assert row.error is None or why[row.id] in row.error
            assert row.error is None or "partition" not in row.error
    same = net.score_examples(frame(spark), on_error=on_error).collect()
    np.testing.assert_allclose([row.loss for row in same], losses, rtol=1e-6)
    assert [(row.id, row.features, row.label) for row in same] == rows()


def refuse_large(batch):
    if (batch.features > 2).any():
        raise ValueError("too large")
    return batch


def test_rows_on_which_the_transform_fails_say_so(net, spark):
    given = [
        [n, [9.0, *x[1:]] if n % 5 == 1 else np.clip(x, -2, 2).tolist(), y] for n, x, y in rows()
    ]
    made = spark.createDataFrame(given, frame(spark).schema).coalesce(1)
    options = {"transform": refuse_large, "loss": "l", "error": "why", "on_error": "column"}
    got = net.score_examples(made, **options).collect()
    plain = [row.loss for row in net.score_examples(made).collect()]
    for row, loss in zip(got, plain, strict=True):
        fails = row.id % 5 == 1
        assert row.l is None if fails else row.l == pytest.approx(loss, rel=1e-5)
        assert row.why == ("ValueError: too large" if fails else None)


def test_partitions_without_a_row_that_can_be_used(net, spark):
    empty = spark.createDataFrame([(n, None, 0) for n in range(4)], frame(spark).schema)
    got = net.score_examples(empty, on_error="column").collect()
    assert [row.loss for row in got] == [None] * 4 and all(row.error for row in got)
    nothing = net.score_examples(empty.filter("id > 9"), on_error="null")
    assert nothing.collect() == []


WRONG = {
    "taken": ({"loss": "Label"}, ConfigError, r"must not have the columns \['label'\] yet"),
    "missing": ({"label": "truth"}, DataError, "truth"),
    "error": ({"on_error": "drop"}, ConfigError, "score_examples.on_error must be one of"),
    "reason": ({"on_error": "column", "error": "id"}, ConfigError, r"the columns \['id'\] yet"),
    "name": ({"on_error": "column", "error": None}, ConfigError, "error must be a name, got None"),
    "device": ({"device": "gpu"}, ConfigError, "device must be 'auto', 'cpu' or 'cuda'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_work_is_refused_at_once(case, net, spark):
    options, kind, says = WRONG[case]
    with pytest.raises(kind, match=says):
        net.score_examples(frame(spark), **options)
