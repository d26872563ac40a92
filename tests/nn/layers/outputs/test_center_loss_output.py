"""Class centers: their share of the loss, and their updates."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import CenterLossOutput, Dense, NetworkConf, forward
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.scoring import example_losses
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import value_and_gradients

N, UNITS, FEATURES = 6, 3, 4


@pytest.fixture
def case(rng):
    """(x, labels without class 2, params, centers)"""
    params = {"W": rng.normal(size=(FEATURES, UNITS)), "b": rng.normal(size=UNITS)}
    labels = np.array([0, 1, 1, 0, 1, 1], np.int32)
    return rng.normal(size=(N, FEATURES)), labels, params, rng.normal(size=(UNITS, FEATURES))


def run_of(labels, centers, training=True):
    return Run(training=training, seed=0, labels=labels, buffers={"centers": centers})


@pytest.mark.slow
@pytest.mark.parametrize("one_hot", [False, True])
def test_the_distance_and_the_move_by_hand(one_hot, case):
    x, labels, params, centers = case
    kind = "one_hot" if one_hot else "class"
    loss = {"type": "softmax_cross_entropy", "labels": kind}
    layer = CenterLossOutput(units=UNITS, center_weight=0.5, center_rate=0.25, loss=loss)
    run = run_of(np.eye(UNITS)[labels] if one_hot else labels, centers)
    z = layer.forward(params, x, run)
    np.testing.assert_allclose(z, x @ params["W"] + params["b"])
    (added,) = run.results.losses
    np.testing.assert_allclose(added, 0.25 * ((x - centers[labels]) ** 2).sum(axis=1))
    expected = centers.copy()
    for k in range(UNITS):
        own = x[labels == k]
        expected[k] -= 0.25 * (centers[k] - own).sum(axis=0) / (1 + len(own))
    np.testing.assert_allclose(run.updates["centers"], expected)


@pytest.mark.parametrize("ignored", [255, 2])
def test_an_ignored_example_has_no_distance_and_moves_no_center(ignored, case):
    x, labels, params, centers = case
    labels = np.where(np.arange(N) < 2, ignored, labels).astype(np.int32)
    layer = CenterLossOutput(
        units=UNITS, loss={"type": "softmax_cross_entropy", "ignore_label": ignored}
    )
    run, rest = run_of(labels, centers), run_of(labels[2:], centers)
    layer.forward(params, x, run)
    layer.forward(params, x[2:], rest)
    np.testing.assert_allclose(run.results.losses[0], [0, 0, *rest.results.losses[0]])
    np.testing.assert_allclose(run.updates["centers"], rest.updates["centers"])


def test_the_gradient_pulls_towards_the_center(case):
    x, labels, params, centers = case
    layer = CenterLossOutput(units=UNITS, center_weight=0.5)

    def added(x):
        run = run_of(labels, centers)
        layer.forward(params, x, run)
        return ops.sum(run.results.losses[0])

    _, (gx,) = value_and_gradients(added, x)
    np.testing.assert_allclose(gx, 0.5 * (x - centers[labels]), rtol=1e-9)


def test_in_use_it_is_an_output(case):
    x, labels, params, centers = case
    run = run_of(labels, centers, training=False)
    CenterLossOutput(units=UNITS).forward(params, x, run)
    assert not run.results.losses and not run.updates


@pytest.mark.slow
def test_training_finds_the_centers_of_clusters(rng):
    layer = CenterLossOutput(units=2, center_rate=0.5, center_weight=1.0)
    conf = NetworkConf(input_shape=(2,), layers=[Dense(units=2, initializer="identity"), layer])
    x = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 5]).astype(np.float32)
    batch, replica = Batch.of(x, np.repeat([0, 1], 20)), Replica(conf)
    for _ in range(20):
        replica.gradient(batch)  # the weights stay fixed, so the features are x
    theirs = KMeans(2, n_init=1, init=x[[0, -1]]).fit(x).cluster_centers_
    np.testing.assert_allclose(replica.buffers.reshape(2, 2), theirs, atol=1e-3)
    loss, _ = replica.gradient(batch)
    params, buffers = replica.arrays()
    out = forward(conf, params, buffers, x, training=True, labels={conf.output.name: batch.labels})
    losses = example_losses(conf, out, {"labels": batch.labels.astype(np.int32)})
    assert loss == pytest.approx(losses.sum(), rel=1e-4)


def test_refuses():
    with pytest.raises(ConfigError, match="CenterLossOutput.loss must be a loss of classes"):
        CenterLossOutput(units=2, loss="mse")
    with pytest.raises(ConfigError, match=r"center_rate must be a number in \[0, 1\]"):
        CenterLossOutput(units=2, center_rate=1.5)
    with pytest.raises(ConfigError, match="CenterLossOutput.center_weight must be a number >= 0"):
        CenterLossOutput(units=2, center_weight=-1)
    with pytest.raises(ShapeError, match=r"takes rows of features \(n,\), got \(5, 2\)"):
        NetworkConf(input_shape=(5, 2), layers=[CenterLossOutput(units=2)])
