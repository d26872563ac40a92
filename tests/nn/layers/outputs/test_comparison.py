"""Losses between a network's own values: no labels are read."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from sparkdl.data import Batch
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import AddedLoss, Comparison, Dense, GainComparison, GraphBuilder, Output, Run, Sgd
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.network import Network

X = np.random.default_rng(3).normal(size=(8, 6)).astype(np.float32)
BATCH = Batch(columns={"features": X}, ids=np.arange(8, dtype=np.uint64))


def auto_encoder(**options):
    build = GraphBuilder(x=(6,))
    build.add(Dense(units=3, activation="tanh"), "x", name="code")
    build.add(Dense(units=6), name="again")
    build.add(Comparison(**options), "again", "x", name="loss")
    return build.conf(optimizer=Sgd(learning_rate=0.1), seed=1)


@pytest.mark.slow
def test_an_auto_encoder_learns_without_labels():
    conf = auto_encoder(loss="euclidean")
    assert conf.label_columns == {} and conf.main.name == "loss"
    replica = Replica(conf)
    views = conf.params_layout.views(replica.params)
    hidden = np.tanh(X @ views["code/W"] + views["code/b"])
    again = hidden @ views["again/W"] + views["again/b"]
    first = replica.step(BATCH, 0.1, 1) / 8
    assert first == pytest.approx(((again - X) ** 2).sum() / 16, rel=1e-5)
    for t in range(2, 60):
        last = replica.step(BATCH, 0.1, t) / 8
    assert last < first / 2
    np.testing.assert_allclose(replica.losses(BATCH)[1].mean(), last, rtol=0.1)


@pytest.mark.slow
def test_a_network_is_fitted_on_features_alone():
    net = Network(auto_encoder(loss="euclidean"))
    net.fit(BATCH, epochs=2)
    assert net.predict(X).shape == (8, 6)
    with pytest.raises(ConfigError, match="loss reads no labels, so there is nothing to evaluate"):
        net.evaluate(BATCH)


def test_examples_that_do_not_count(rng):
    z, y = rng.normal(size=(2, 4, 3))
    there = np.array([[1.0], [0.0], [-2.0], [0.0]])
    each = ((z - y) ** 2).sum(axis=1) / 2
    layer = Comparison(loss="euclidean", reduction="valid")
    assert loss_of(layer, z, y, there) == pytest.approx((each[0] + each[2]) / 2)
    layer = Comparison(loss="euclidean", reduction="total", loss_weight=0.5)
    assert loss_of(layer, z, y, there) == pytest.approx((each[0] + each[2]) / 2)


@pytest.mark.parametrize("shape", [(4, 1, 3), (4, 3)], ids=str)
def test_a_mask_is_one_of_sequences_not_of_images_that_they_have_become(shape, rng):
    z, y = rng.normal(size=(2, 2, *shape))
    mask = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1]])
    layer = Comparison(loss="mse", reduction="sum")
    run = Run(training=True, seed=0, masks=(mask, mask))
    layer.forward({}, (z, y), run)
    squares = (z - y) ** 2
    each = squares.mean(2) * mask if len(shape) == 2 else squares.mean(1).reshape(2, -1)
    np.testing.assert_allclose(run.results.losses[0], each.sum(1))
    assert (layer.out_mask((mask, mask), (shape, shape)) is mask) == (len(shape) == 2)


def loss_of(layer, *x):
    run = Run(training=True, seed=0)
    layer.forward({}, x, run)
    return run.results.losses[0].mean()


def test_classes_from_another_layer(rng):
    z, labels = rng.normal(size=(4, 3)), np.array([[0.0], [2.0], [1.0], [2.0]])
    wanted = -np.log(np.exp(z) / np.exp(z).sum(1, keepdims=True))[np.arange(4), [0, 2, 1, 2]]
    assert loss_of(Comparison(), z, labels) == pytest.approx(wanted.mean())


def test_labels_and_comparisons_beside_each_other(rng):
    build = GraphBuilder(x=(6,))
    build.add(Dense(units=6), "x", name="again")
    build.add(Comparison(loss="mse", loss_weight=0.1), "again", "x", name="same")
    build.add(Output(units=2), "again", name="class")
    conf = build.conf()
    assert list(conf.label_columns) == ["labels"] and conf.main.name == "class"


def test_a_loss_of_any_blob():
    x = np.arange(6.0).reshape(2, 3)
    for mean, wanted in [(False, 0.5 * 15), (True, 0.5 * 15 / 2)]:
        run = Run(training=True, seed=0)
        AddedLoss(weight=0.5, mean=mean).forward({}, x, run)
        assert run.results.losses[0].mean() == wanted


@pytest.mark.parametrize("shapes", [((4,),), ((4,), (3,)), ((4,), (4,), (2,))])
def test_shapes_that_cannot_be_compared(shapes):
    with pytest.raises(ShapeError, match="Comparison"):
        Comparison(loss="mse").out_shape(shapes)


SOFTMAX = {"type": "softmax_cross_entropy"}
OTHER_LOSSES = {
    "mse": "mse",
    "infogain": {"type": "infogain", "gain": [[1.0]]},
    "class weights": SOFTMAX | {"class_weights": [1, 2]},
    "one_hot": SOFTMAX | {"labels": "one_hot"},
}


@pytest.mark.parametrize("loss", OTHER_LOSSES.values(), ids=OTHER_LOSSES)
def test_a_gain_with_another_loss_is_refused(loss):
    with pytest.raises(ConfigError, match="GainComparison.loss must be softmax_cross_entropy, got"):
        GainComparison(loss=loss)


def test_a_gain_may_ignore_a_label():
    loss = SOFTMAX | {"ignore_label": 3}
    assert GainComparison(loss=loss).loss.ignore_label == 3


@pytest.mark.parametrize("weights", [(1.0, 0.0, 1.0), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)], ids=str)
def test_valid_divides_by_the_steps_of_the_examples_that_count(weights, rng):
    """The steps of all examples were counted, those of examples left out too."""
    z, labels = rng.normal(size=(3, 4, 5)), rng.integers(0, 5, (3, 4))
    mask = np.array([[1.0, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 0]])
    labels[0, :2] = 1
    layer = Comparison(loss=SOFTMAX | {"ignore_label": 1}, reduction="valid")
    run = Run(training=True, seed=0, masks=(mask, None, None))
    layer.forward({}, (z, labels.astype(float), np.array(weights)[:, None]), run)
    counted = (mask > 0) & (labels != 1) & (np.array(weights) > 0)[:, None]
    theirs = (
        log_loss(labels[counted], softmax(z[counted], 1), labels=range(5)) if counted.any() else 0
    )
    assert run.results.losses[0].mean() == pytest.approx(theirs)


def test_valid_divides_by_the_examples_whose_label_counts(rng):
    z, labels = rng.normal(size=(4, 3)), np.array([[0.0], [2.0], [1.0], [2.0]])
    layer = Comparison(loss=SOFTMAX | {"ignore_label": 2}, reduction="valid")
    there = np.array([[1.0], [1.0], [1.0], [0.0]])
    theirs = log_loss([0, 1], softmax(z[[0, 2]], 1), labels=range(3))
    assert loss_of(layer, z, labels, there) == pytest.approx(theirs)
