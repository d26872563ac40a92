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


WRONG = {
    "taken": ({"loss": "Label"}, ConfigError, r"must not have the columns \['label'\] yet"),
    "missing": ({"label": "truth"}, DataError, "truth"),
    "device": ({"device": "gpu"}, ConfigError, "device must be 'auto', 'cpu' or 'cuda'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_work_is_refused_at_once(case, net, spark):
    options, kind, says = WRONG[case]
    with pytest.raises(kind, match=says):
        net.score_examples(frame(spark), **options)
