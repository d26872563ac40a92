"""The loss of an outcome: a network's own, or the ensemble's as numpy and scikit-learn give it."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn import metrics

from sparkdl.nn import Dense, GraphConf, LossLayer, NetworkConf, Output, Vertex
from sparkdl.nn.losses import (
    Dice,
    Gaussian,
    Hinge,
    Huber,
    Infogain,
    Loss,
    MixtureDensity,
    Quantile,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    SquaredHinge,
    Tversky,
)
from sparkdl.training.network import Network
from sparkdl.tune.outcome_losses import has_losses, outcome_losses, scores_of
from tests.support.tables import slow

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 4)).astype(np.float32)
CLASSES = RNG.integers(0, 3, 40).astype(np.int32)
VALUES = RNG.normal(size=(40, 3)).astype(np.float32)
SIGNS, SHARES, COUNTS = np.sign(VALUES), (VALUES > 0).astype(np.float32), np.abs(VALUES).round()
ONE_HOT = np.eye(3, dtype=np.float32)[CLASSES]
IGNORED = np.where(VALUES > 1, -1, SHARES).astype(np.float32)
LOSSES = {
    **dict.fromkeys(["mse", "mae", "l1", "l2", "euclidean", "huber", "log_cosh", "mape"], VALUES),
    **dict.fromkeys(["cosine_proximity", "wasserstein"], VALUES),
    **dict.fromkeys(["hinge", "squared_hinge"], SIGNS),
    **dict.fromkeys(["msle", "poisson", "exponential"], COUNTS),
    **dict.fromkeys(["softmax_cross_entropy", "multiclass_hinge"], CLASSES),
    **dict.fromkeys(["sigmoid_cross_entropy", "multi_label", "contrastive"], SHARES),
    "kl_divergence": softmax(VALUES, axis=1),
    Huber(delta=0.3, unit_weights=(1.0, 0.0, 3.0)): VALUES,
    Infogain(gain=((2.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.1, 0.0, 1.0))): CLASSES,
    SigmoidCrossEntropy(averaged=True): SHARES,
    SigmoidCrossEntropy(ignore_label=-1): IGNORED,
    SoftmaxCrossEntropy(class_weights=(1.0, 2.0, 0.5)): CLASSES,
    SoftmaxCrossEntropy(labels="one_hot"): ONE_HOT,
    SoftmaxCrossEntropy(ignore_label=1): CLASSES,
    SoftmaxCrossEntropy(label_smoothing=0.1, focal_gamma=2.0): CLASSES,
    SigmoidCrossEntropy(label_smoothing=0.1, focal_gamma=2.0, focal_alpha=0.25): SHARES,
    Dice(): CLASSES,
    Dice(labels="one_hot", per_unit=False): ONE_HOT,
    Dice(labels="masks"): SHARES,
    Tversky(alpha=0.3, beta=0.7, class_weights=(1.0, 2.0, 0.5)): CLASSES,
    Quantile(): VALUES,
    Gaussian(): VALUES[:, :2],
    MixtureDensity(components=2, width=1): VALUES[:, :1],
}
UNITS = {Quantile: 9, Gaussian: 4, MixtureDensity: 6}


def network(loss, seed=1, **output):
    """Returns a network whose scores are between about -5 and 5."""
    units = UNITS.get(type(loss), 3)
    conf = NetworkConf(input_shape=(4,), layers=[Output(units=units, loss=loss, **output)], seed=1)
    made = Network(conf)
    params = np.random.default_rng(seed).normal(size=made.state.params.shape).astype(np.float32)
    return Network(conf, type(made.state)(**vars(made.state) | {"params": params}))


def losses_of(net, outcome, labels):
    batch = SimpleNamespace(columns={"labels": labels})
    return outcome_losses(net.conf, "soft", outcome, batch)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("weight", [slow(1.0), 0.5])
def test_that_of_one_network_is_its_own(loss, weight):
    net, labels = network(loss, loss_weight=weight), LOSSES[loss]
    counted = labels != 1 if getattr(loss, "ignore_label", None) == 1 else slice(None)
    found = losses_of(net, net.predict(X), labels)[counted]
    assert found.shape == (len(labels[counted]),)
    assert found.mean() == pytest.approx(net.evaluate((X, labels)).loss, rel=2e-5)


def hinge_of_odds(y):
    z = np.log(y)
    others = np.where(ONE_HOT, -np.inf, z).max(axis=1)
    return np.maximum(0, 1 + others - z[ONE_HOT > 0]).mean()


OF_SEVERAL = {
    "mae": (VALUES, lambda y: metrics.mean_absolute_error(VALUES, y)),
    "l1": (VALUES, lambda y: 3 * metrics.mean_absolute_error(VALUES, y)),
    "l2": (VALUES, lambda y: 3 * metrics.mean_squared_error(VALUES, y)),
    "poisson": (COUNTS, lambda y: (y - COUNTS * np.log(y)).sum(axis=1).mean()),
    "softmax_cross_entropy": (
        CLASSES,
        lambda y: metrics.log_loss(CLASSES, y / y.sum(1, keepdims=True)),
    ),
    "multiclass_hinge": (CLASSES, hinge_of_odds),
    "sigmoid_cross_entropy": (
        SHARES,
        lambda y: sum(metrics.log_loss(SHARES[:, k], y[:, k]) for k in range(3)),
    ),
}


@pytest.mark.parametrize("loss", OF_SEVERAL)
def test_that_of_several_is_of_what_they_give_together(loss):
    labels, expected = OF_SEVERAL[loss]
    nets = [network(loss, seed) for seed in range(3)]
    y = np.mean([net.predict(X).astype(np.float64) for net in nets], axis=0)
    assert losses_of(nets[0], y, labels).mean() == pytest.approx(expected(y), rel=1e-5)


def test_a_loss_of_your_own_is_known_where_a_prediction_is_z():
    class Fourth(Loss, abstract=True):  # abstract: not registered in the family
        def per_example(self, z, labels):
            return ((z - labels) ** 4).sum(axis=1)

    class Odds(Fourth, abstract=True):
        def output(self, z):
            return expit(z)

    assert scores_of(Fourth()) is np.asarray
    assert scores_of(Odds()) is None


def with_more():
    """Returns a graph with a second layer that adds to the loss."""
    vertices = [
        Vertex(name="hidden", layer=Dense(units=3), inputs="features"),
        Vertex(name="more", layer=LossLayer(loss="mae", labels="labels"), inputs="hidden"),
        Vertex(name="main", layer=Output(units=3, loss="mse", labels="labels"), inputs="hidden"),
    ]
    return GraphConf(inputs={"features": (4,)}, vertices=vertices)


UNKNOWN = {
    "hard votes": (lambda: network("softmax_cross_entropy").conf, "hard"),
    "hinge": (lambda: network(Hinge(labels="class")).conf, "soft"),
    "squared hinge": (lambda: network(SquaredHinge(labels="class")).conf, "weighted"),
    "other layers": (with_more, "soft"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_loss_that_does_not_follow_is_no_number(name):
    make, voting = UNKNOWN[name]
    conf = make()
    assert not has_losses(conf, voting)
    found = outcome_losses(conf, voting, np.full((5, 3), 1 / 3), SimpleNamespace(columns={}))
    assert found.shape == (5,) and np.isnan(found).all()
