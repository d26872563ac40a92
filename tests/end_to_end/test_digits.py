"""End to end: digits from an LMDB, trained on two executors, saved, and used elsewhere."""

import numpy as np
import pytest

from sparkdl.data import LMDB, digits, write_lmdb
from sparkdl.nn import Dense, Nesterov, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints, latest


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    """LMDBs of 4,000 digits to train on and 1,000 to evaluate on, scaled to [0, 1]."""
    folder = tmp_path_factory.mktemp("digits")
    for name, n in (("train", 4000), ("test", 1000)):
        write_lmdb(str(folder / name), [digits(name).take(slice(n))])
    return [LMDB(str(folder / name), scale=1 / 255) for name in ("train", "test")]


def test_digits(databases, spark, tmp_path):
    train, test = databases
    layers = [Dense(units=64, activation="relu"), Output(units=10)]
    conf = NetworkConf(
        input_shape=(1, 28, 28), optimizer=Nesterov(learning_rate=0.05), seed=1, layers=layers
    )
    net = SparkNetwork(spark, conf, ParameterAveraging(batch_size_per_worker=32))
    checkpoints = Checkpoints(path=str(tmp_path / "checkpoints"))
    history = net.fit(train, epochs=2, validation=test, checkpoints=checkpoints)
    accuracy = [epoch.validation.accuracy for epoch in history.epochs]
    assert accuracy[1] > 0.85
    assert history.epochs[1].loss < history.epochs[0].loss
    assert net.evaluate(test).accuracy == accuracy[1]
    net.save(tmp_path / "model")
    for path in (tmp_path / "model", latest(tmp_path / "checkpoints")):
        alone = Network.load(path)
        np.testing.assert_array_equal(alone.state.params, net.network.state.params)
        assert alone.evaluate(test).confusion.tolist() == net.evaluate(test).confusion.tolist()
    batch = digits("test").take(slice(1000))
    pixels = (batch.features[:100] / np.float32(255)).reshape(100, -1)
    frame = spark.createDataFrame([(x,) for x in pixels.tolist()], "features array<float>")
    found = [row.prediction for row in net.predict(frame).collect()]
    assert np.mean(found == batch.labels[:100]) > 0.85
