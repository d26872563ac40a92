"""`weights` of evaluate and score name a column of scikit-learn's sample_weight."""

import numpy as np
import pytest
from pyspark.sql import Row
from sklearn import metrics

from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.errors import DataError
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging

N, WIDTH = 90, 4


def network(spark, units, loss=None):
    layers = [Dense(units=5, activation="tanh"), Output(units=units, loss=loss)]
    conf = NetworkConf(input_shape=(WIDTH,), layers=layers, seed=3)
    return SparkNetwork(spark, conf, ParameterAveraging(workers=2, batch_size_per_worker=8))


@pytest.fixture(scope="module")
def arrays():
    """Features, numbers that depend on them, and weights of which some are 0."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(N, WIDTH)).astype(np.float32)
    y = x @ rng.normal(size=WIDTH) + rng.normal(size=N)
    return x, y, rng.choice([0.0, 0.5, 1.0, 4.0], N)


def table(spark, x, label, w):
    rows = [
        (a.tolist(), b.item(), c.item()) for a, b, c in zip(x, np.asarray(label), w, strict=True)
    ]
    return spark.createDataFrame(rows, ["features", "label", "w"]).repartition(3)


def classes_of(y):
    return np.digitize(y, [-1, 1])


def test_classes(spark, arrays):
    x, y, w = arrays
    label, net = classes_of(y), network(spark, 3, "softmax_cross_entropy")
    frame, p = table(spark, x, label, w), net.network.predict(x)
    found, weighted = net.evaluate(frame, weights="w"), {"sample_weight": w}
    assert found.accuracy == pytest.approx(metrics.accuracy_score(label, p.argmax(1), **weighted))
    loss = metrics.log_loss(label, p / p.sum(axis=1, keepdims=True), **weighted)
    assert found.loss == pytest.approx(loss * w.mean(), rel=1e-5)
    assert net.score(frame, weights="w") == found.loss
    areas = [metrics.roc_auc_score(label == k, p[:, k], **weighted) for k in range(3)]
    assert found.auc() == pytest.approx(np.mean(areas))
    matrix = metrics.confusion_matrix(label, p.argmax(1), **weighted)
    np.testing.assert_allclose(found.confusion, matrix)
    assert found.accuracy != pytest.approx(net.evaluate(frame).accuracy)
    rows = spark.sparkContext.parallelize(
        [Row(features=a, label=int(b), w=c) for a, b, c in zip(x, label, w, strict=True)], 3
    )
    assert net.evaluate(rows, weights="w").figures() == pytest.approx(found.figures())
    local = Arrays({"features": x, "weights": w}, label)
    assert net.network.evaluate(local).figures() == pytest.approx(found.figures())


def test_yes_or_no(spark, arrays):
    x, y, w = arrays
    label, net = (y > 0).astype(int), network(spark, 1, "sigmoid_cross_entropy")
    p = net.network.predict(x)[:, 0]
    found = net.evaluate(table(spark, x, label, w), weights="w")
    loss = metrics.log_loss(label, p, sample_weight=w) * w.mean()
    assert found.loss == pytest.approx(loss, rel=1e-5)
    assert found.auc() == pytest.approx(metrics.roc_auc_score(label, p, sample_weight=w))
    right = metrics.accuracy_score(label, p >= 0.5, sample_weight=w)
    assert found.accuracy == pytest.approx(right)


def test_values(spark, arrays):
    x, y, w = arrays
    net = network(spark, 1, "mse")
    found, p = net.evaluate(table(spark, x, y, w), weights="w"), net.network.predict(x)[:, 0]
    mse = metrics.mean_squared_error(y, p, sample_weight=w)
    assert [found.loss, found.mse] == pytest.approx([mse * w.mean(), mse], rel=1e-5)
    assert found.r2 == pytest.approx(metrics.r2_score(y, p, sample_weight=w), rel=1e-5)


def test_a_fit_evaluates_alike(spark, arrays):
    x, y, w = arrays
    net = network(spark, 3, "softmax_cross_entropy")
    frame = table(spark, x, classes_of(y), w)
    history = net.fit(frame, 1, frame, weights="w")
    expected = net.evaluate(frame, weights="w").figures()
    assert history.epochs[-1].validation.figures() == pytest.approx(expected)


def test_a_column_that_is_missing_is_refused(spark, arrays):
    frame = table(spark, *arrays)
    with pytest.raises(DataError, match="'v'"):
        network(spark, 1, "mse").evaluate(frame, weights="v")
