"""Losses against optax and scikit-learn."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.special
import scipy.stats
from sklearn import metrics

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import LossLayer, NetworkConf, Output, losses
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.layers.outputs.base import REDUCTIONS
from sparkdl.nn.losses import (
    Loss,
    Mae,
    Mse,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    best_path,
)
from tests.nn.examples import LOSSES
from tests.nn.support import label, value_and_gradients
from tests.support.tables import first_of_each

N, UNITS, STEPS = 6, 4, 5


def weights(values):
    return jnp.ones(UNITS) if values is None else jnp.asarray(values, float)


def softmax_cross_entropy(loss, z, y):
    if loss.labels == "one_hot":
        return of_shares(loss, z, y)
    counts = jnp.ones(N) if loss.ignore_label is None else 1.0 * (y != loss.ignore_label)
    y = jnp.where(counts > 0, y, 0)
    if loss.label_smoothing or loss.focal_gamma:
        return of_shares(loss, z, jax.nn.one_hot(y, UNITS)) * counts
    each = optax.softmax_cross_entropy_with_integer_labels(z, y)
    return each * weights(loss.class_weights)[y] * counts


def of_shares(loss, z, y):
    """Returns Lin et al. (2017), eq. 4, for shares of classes."""
    logs = jax.nn.log_softmax(z)
    logs = logs * (1 - jnp.exp(logs)) ** loss.focal_gamma if loss.focal_gamma else logs
    y = optax.smooth_labels(y, loss.label_smoothing)
    return -(y * weights(loss.class_weights) * logs).sum(axis=1)


def sigmoid_cross_entropy(loss, z, y):
    smooth = (1 - loss.label_smoothing) * y + loss.label_smoothing / 2
    terms = optax.sigmoid_binary_cross_entropy(z, smooth)
    if loss.focal_gamma or loss.focal_alpha is not None:
        terms = optax.sigmoid_focal_loss(z, smooth, alpha=loss.focal_alpha, gamma=loss.focal_gamma)
    return total(loss, known(loss, y, terms))


def total(loss, terms):
    """Returns the weighted sum of the terms of all units, or their mean."""
    terms = terms * weights(loss.unit_weights)
    return terms.mean(axis=1) if loss.averaged else terms.sum(axis=1)


def known(loss, y, terms):
    return jnp.where(y == loss.ignore_label, 0, terms)


def signs(loss, y):
    return 2.0 * jax.nn.one_hot(y, UNITS) - 1 if loss.labels == "class" else y


def multi_label(loss, z, y):
    pairs = y[:, :, None] * (1 - y[:, None, :])
    total = (pairs * jnp.exp(z[:, None, :] - z[:, :, None])).sum(axis=(1, 2))
    return total / jnp.maximum(pairs.sum(axis=(1, 2)), 1)


def contrastive(loss, z, y):
    far = jnp.maximum(loss.margin - (z**2 if loss.legacy else z), 0)
    return (y * z**2 + (1 - y) * (far if loss.legacy else far**2)).sum(axis=1) / 2


def ctc(loss, z, y):
    nothing = jnp.zeros(z.shape[:2])
    options = {"blank_id": loss.blank, "log_epsilon": -1e6}
    return optax.ctc_loss(z, nothing, jnp.where(y < 0, loss.blank, y), 1.0 * (y < 0), **options)


def pinball(loss, z, y):
    shares = jnp.asarray(loss.quantiles)
    away = y[:, :, None] - z.reshape(N, -1, len(shares))
    return jnp.where(away > 0, shares * away, (shares - 1) * away)


def one_normal(loss, z, y):
    return -jax.scipy.stats.norm.logpdf(y, z[:, 2:], jnp.exp(z[:, 1:2])).sum(axis=1)


THEIRS = {
    "softmax_cross_entropy": softmax_cross_entropy,
    "infogain": lambda loss, z, y: -(jnp.asarray(loss.gain)[y] * jax.nn.log_softmax(z)).sum(axis=1),
    "multinomial_logistic": lambda loss, z, y: -jnp.log(z[jnp.arange(N), y]),
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "multi_label": multi_label,
    "contrastive": contrastive,
    "ctc": ctc,
    "gaussian": lambda loss, z, y: (
        -jax.scipy.stats.norm.logpdf(y, z[:, :2], jnp.exp(z[:, 2:] / 2)).sum(axis=1)
    ),
    "exponential": lambda loss, z, y: (
        -jax.scipy.stats.expon.logpdf(y, scale=jnp.exp(-z)).sum(axis=1)
    ),
    "mixture_density": one_normal,
    "kl_divergence": lambda loss, z, y: optax.kl_divergence(jax.nn.log_softmax(z), y),
    "poisson": lambda loss, z, y: total(loss, jnp.exp(z) - y * z),
    "mse": lambda loss, z, y: (
        known(loss, y, optax.squared_error(z, y)) * weights(loss.unit_weights)
    ).mean(axis=1),
    "mae": lambda loss, z, y: jnp.abs(z - y).mean(axis=1),
    "l1": lambda loss, z, y: jnp.linalg.norm(z - y, ord=1, axis=1),
    "l2": lambda loss, z, y: optax.squared_error(z, y).sum(axis=1),
    "euclidean": lambda loss, z, y: optax.l2_loss(z, y).sum(axis=1),
    "mape": lambda loss, z, y: 100 * jnp.abs((z - y) / y).mean(axis=1),
    "msle": lambda loss, z, y: optax.squared_error(jnp.log1p(jnp.clip(z, 1e-7)), jnp.log1p(y)).mean(
        axis=1
    ),
    "huber": lambda loss, z, y: known(loss, y, optax.huber_loss(z, y, delta=loss.delta)).mean(
        axis=1
    ),
    "log_cosh": lambda loss, z, y: total(loss, known(loss, y, optax.log_cosh(z, y))),
    "quantile": lambda loss, z, y: pinball(loss, z, y).mean(axis=(1, 2)),
    "hinge": lambda loss, z, y: total(loss, optax.hinge_loss(z, signs(loss, y))),
    "multiclass_hinge": lambda loss, z, y: optax.losses.multiclass_hinge_loss(z, y),
    "squared_hinge": lambda loss, z, y: total(loss, optax.hinge_loss(z, signs(loss, y)) ** 2),
    "cosine_proximity": lambda loss, z, y: -optax.cosine_similarity(z, y),
    "wasserstein": lambda loss, z, y: jnp.mean(y * z, axis=1),
}
ELSEWHERE = {"dice", "tversky", "yolo2"}  # in files of their own
compared = pytest.mark.parametrize(
    "loss",
    first_of_each((x for x in LOSSES if x.type_name not in ELSEWHERE), lambda x: x.type_name),
    ids=str,
)
SIGNED = {"hinge", "squared_hinge", "wasserstein"}  # labels are -1 or 1
COUNTED = {"poisson"}  # labels are 0, 1, 2 ...
YES_OR_NO = {"multi_label", "contrastive"}  # labels are 0 or 1
LARGEST = {"poisson": 80.0, "exponential": 80.0}  # e^z is finite up to 88.8
LARGEST |= {"multi_label": 40.0, "mixture_density": 20.0, "gaussian": 40.0}


@pytest.fixture
def z(rng):
    return rng.normal(size=(N, UNITS)) * 4


def input_for(loss, z):
    """Returns z, probabilities for losses that take them, or a sequence."""
    if loss.of_sequence:
        return z[:, None] * np.linspace(-0.5, 0.5, STEPS)[:, None]
    return np.asarray(jax.nn.softmax(z)) if loss.type_name == "multinomial_logistic" else z


def labels_for(loss, rng):
    if loss.type_name == "ctc":
        labels = rng.integers(0, UNITS - 1, (N, loss.label_length))
        return np.sort(np.where(labels == loss.blank, -1, labels))[:, ::-1].astype(np.int32)
    if loss.label_kind == "class":
        labels = rng.integers(0, UNITS, N).astype(np.int32)
        return np.where(labels == 2, getattr(loss, "ignore_label", None) or 2, labels)
    if getattr(loss, "ignore_label", None) is not None:
        return rng.choice([0.0, 1.0, loss.ignore_label], (N, UNITS))
    if loss.type_name == "quantile":
        return rng.normal(size=(N, UNITS // len(loss.quantiles)))
    if loss.type_name == "gaussian":
        return rng.normal(size=(N, UNITS // 2))
    if loss.type_name in YES_OR_NO:
        return rng.choice([0.0, 1.0], (N, UNITS))
    if loss.type_name == "mixture_density":
        return rng.normal(size=(N, loss.width))
    if loss.type_name in SIGNED:
        return rng.choice([-1.0, 1.0], (N, UNITS))
    if loss.type_name in COUNTED:
        return rng.poisson(2.0, (N, UNITS)).astype(float)
    return rng.uniform(0, 1, (N, UNITS))


def test_every_loss_is_compared():
    assert set(THEIRS) | ELSEWHERE == set(Loss.members)


@compared
def test_equals_optax(loss, z, rng, x64):
    z, labels = input_for(loss, z), labels_for(loss, rng)
    ours = loss.per_example(z, labels)
    assert ours.shape == (N,)
    theirs = jax.jit(lambda z: THEIRS[loss.type_name](loss, z, labels))(z)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-14)


@compared
def test_gradient_equals_that_of_jax(loss, z, rng, x64):
    z, labels = input_for(loss, z), labels_for(loss, rng)
    _, (gz,) = value_and_gradients(lambda z: ops.mean(loss.per_example(z, labels)), z)
    slope = jax.jit(jax.grad(lambda z: THEIRS[loss.type_name](loss, z, labels).mean()))
    np.testing.assert_allclose(gz, slope(jnp.asarray(z)), rtol=1e-7, atol=1e-10)


@compared
def test_label_shape_follows_from_its_kind(loss, z, rng):
    units = (STEPS, UNITS) if loss.of_sequence else UNITS
    assert labels_for(loss, rng).shape[1:] == loss.label_shape(units)


@compared
def test_extreme_outputs_stay_finite(loss):
    z = np.array([[1, -1, 0, 0]], np.float32) * np.float32(LARGEST.get(loss.type_name, 1e4))
    if loss.of_sequence:
        z, labels = np.stack([z, -z, z], axis=1), np.array([[1, 2]], np.int32)
    elif loss.label_kind == "class":
        labels = np.array([1], np.int32)
    else:
        labels = np.resize(np.float32([0, 1, 1, 1]), (1, *loss.label_shape(UNITS)))
    value, (gz,) = value_and_gradients(lambda z: ops.sum(loss.per_example(z, labels)), z)
    assert np.isfinite(value) and np.isfinite(gz).all()
    assert np.isfinite(loss.output(z)).all()


BELOW_0 = {  # outputs (1, 2) at which the label (-1, 0) has a loss far below 0
    losses.SigmoidCrossEntropy(): [-100, 0],
    losses.SoftmaxCrossEntropy(labels="one_hot"): [-100, 0],
    losses.KlDivergence(): [-300, 0],
    losses.Poisson(): [-100, 0],
    losses.ExponentialDensity(): [10, 0],
    losses.Contrastive(): [100, 0],
    losses.MultiLabelRanking(): [-10, 0],
}


@pytest.mark.parametrize("loss", BELOW_0, ids=label)
def test_a_loss_has_no_lower_bound_outside_the_range_of_its_labels(loss):
    found = loss.per_example(np.array([BELOW_0[loss]], float), np.array([[-1.0, 0]]))
    assert found[0] < -50 and loss.label_range[0] == 0


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.SquaredHinge()], ids=label)
def test_the_label_0_teaches_a_hinge_nothing(loss):
    z = np.array([[-3.0, 0.5, 3.0]])
    _, (gz,) = value_and_gradients(lambda z: ops.sum(loss.per_example(z, 0 * z)), z)
    assert not gz.any()
    assert loss.label_range == (-1, 1) and not loss.takes_between


LOG_2 = np.log(2)

# (loss, z, labels, loss worked out by hand)
BY_HAND = [
    (losses.L1(), [1, -2, 4], [0, 0, 1], 6),
    (losses.L2(), [1, -2, 4], [0, 0, 1], 14),
    (losses.Mape(), [1, 3, -1], [2, 2, -4], (50 + 50 + 75) / 3),
    (losses.Mape(), [0.0], [0.0], 0),
    (losses.Msle(), [np.e - 1, -5], [0, np.e**2 - 1], (1 + 4) / 2),
    (losses.Huber(), [0.5, 3, -3], [0, 0, 0], (0.125 + 2.5 + 2.5) / 3),
    (losses.Huber(delta=2), [2, 5], [0, 0], (2 + 8) / 2),
    (losses.Quantile(quantiles=[0.75]), [1, 4], [3, 2], (1.5 + 0.5) / 2),
    (losses.Quantile(quantiles=(0.1, 0.9)), [0, 2, 5, 5], [1, 5], (0.1 + 0.1 + 0 + 0) / 4),
    (losses.Mse(ignore_label=-99), [1, 2, 3], [3, -99, 3], 4 / 3),
    (losses.L1(ignore_label=0), [1, 2], [0, 5], 3),
    (losses.Msle(ignore_label=-1e38), [np.e - 1, 5], [0, -1e38], 1 / 2),
    (losses.Mape(ignore_label=0), [3, 5], [2, 0], 50 / 2),
    (losses.Euclidean(ignore_label=3e38), [3, -3], [1, 3e38], 2),
    (losses.Hinge(), [0.5, 2, -1], [1, 1, 1], 0.5 + 0 + 2),
    (losses.Hinge(), [0.5, -3], [-1, -1], 1.5),
    (losses.SquaredHinge(), [0.5, 2, -1], [1, 1, 1], 0.25 + 0 + 4),
    (losses.KlDivergence(), [0, 0], [1, 0], np.log(2)),
    (losses.KlDivergence(), [0, np.log(3)], [0.25, 0.75], 0),
    (losses.KlDivergence(), [0, 0], [1e-4, 0], 1e-4 * np.log(2e-4)),
    (losses.Poisson(), [0, np.log(2)], [3, 1], 1 + 2 - np.log(2)),
    (losses.CosineProximity(), [3, 4], [30, 40], -1),
    (losses.CosineProximity(), [1, 1], [0, -2], 0.5**0.5),
    (losses.CosineProximity(), [0, 0], [1, 1], 0),
    (losses.Wasserstein(), [2, 3, 4], [1, -1, 1], 1),
    (losses.Contrastive(), [2.0], [1], 2),
    (losses.Contrastive(), [0.25], [0], 0.75**2 / 2),
    (losses.Contrastive(legacy=True), [0.5], [0], 0.75 / 2),
    (losses.Contrastive(margin=2), [3], [0], 0),
    (losses.MultiLabelRanking(), [1, 2, 0], [1, 0, 0], (np.e + np.exp(-1)) / 2),
    (losses.MultiLabelRanking(), [1, 2, 0], [1, 1, 1], 0),
    (losses.MultiLabelRanking(), [0, 2000, -2000], [1, 1, 1], 0),
    (losses.MultiLabelRanking(), [0, 2000, -2000], [0, 0, 0], 0),
    (losses.MultiLabelRanking(), [1e4, 1e4 + 1, 1e4 + 2], [1, 0, 0], (np.e + np.e**2) / 2),
    (losses.MultiLabelRanking(), [0, 2000, 5, -3], [1, 1, 0, 0], (np.e**5 + np.exp(-3)) / 4),
    (losses.Mae(unit_weights=(2, 0)), [1, 1], [0, 0], 1),
    (losses.SoftmaxCrossEntropy(labels="one_hot"), [0, 0], [0.5, 0.5], np.log(2)),
    (losses.SigmoidCrossEntropy(ignore_label=-1), [0, 3], [1, -1], np.log(2)),
    (losses.SigmoidCrossEntropy(ignore_label=3e38), [0, 30], [1, 3e38], np.log(2)),
    (losses.SigmoidCrossEntropy(ignore_label=1e20, focal_gamma=2), [0, 3], [1, 1e20], LOG_2 / 4),
    (
        losses.SigmoidCrossEntropy(ignore_label=1e20, label_smoothing=0.5, focal_alpha=0.5),
        [0, 3],
        [1, 1e20],
        LOG_2 / 2,
    ),
]


@pytest.mark.parametrize("loss, z, labels, expected", BY_HAND, ids=label)
def test_equals_what_is_computed_by_hand(loss, z, labels, expected):
    value = loss.per_example(np.array([z], float), np.array([labels], float))
    np.testing.assert_allclose(value, [expected], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("by", [-1000, 1000])
def test_a_ranking_of_labels_depends_on_differences_alone(by):
    z, y = np.float32([[1, 2, -80, 0]]), np.float32([[1, 0, 1, 0]])

    def of(z):
        return value_and_gradients(
            lambda z: ops.sum(losses.MultiLabelRanking().per_example(z, y)), z
        )

    (value, (gz,)), (moved, (gz_moved,)) = of(z), of(z + np.float32(by))
    exact = np.exp([[1.0, 82.0], [-1.0, 80.0]]) / 4  # z_l - z_k for l = 1, 3 and k = 0, 2
    np.testing.assert_allclose([value, moved], exact.sum(), rtol=1e-4)
    of_l, of_k = exact.sum(1), -exact.sum(0)
    for found in (gz, gz_moved):
        np.testing.assert_allclose(found, [[of_k[0], of_l[0], of_k[1], of_l[1]]], rtol=1e-4)


def test_what_a_prediction_gives():
    z = np.array([[0.0, np.log(3)]])
    np.testing.assert_allclose(losses.KlDivergence().output(z), [[0.25, 0.75]])
    np.testing.assert_allclose(losses.Poisson().output(z), [[1, 3]])
    np.testing.assert_array_equal(losses.Hinge().output(z), z)


def test_a_mixture_is_that_of_scipy():
    z = np.log([[0.25, 0.75, 2, 0.5, 1, 1, 1, 1]])
    z[0, 4:] = [1, -1, 3, 0]  # means (1, -1) and (3, 0)
    density = 0.25 * scipy.stats.norm.pdf([2, 1], [1, -1], 2).prod()
    density += 0.75 * scipy.stats.norm.pdf([2, 1], [3, 0], 0.5).prod()
    loss = losses.MixtureDensity(components=2, width=2)
    np.testing.assert_allclose(loss.per_example(z, np.array([[2.0, 1.0]])), [-np.log(density)])
    with pytest.raises(ShapeError, match="2 components of width 2 needs 8 units, got 7"):
        loss.check(7)


def test_an_ignored_label_may_be_no_class(rng):
    loss, z = SoftmaxCrossEntropy(ignore_label=-1), rng.normal(size=(2, 3))
    each, (gz,) = (
        loss.per_example(z, np.array([-1, 2])),
        value_and_gradients(lambda z: ops.sum(loss.per_example(z, np.array([-1, 2]))), z)[1],
    )
    assert each[0] == 0 and each[1] > 0
    assert not gz[0].any() and gz[1].all()


@pytest.mark.slow
def test_a_huge_ignored_label_leaves_loss_and_gradient_finite(rng):
    """A factor 0 would not do: 0 times an infinite term is NaN."""
    loss = SigmoidCrossEntropy(ignore_label=1e20, focal_gamma=2, focal_alpha=0.25)
    z, labels = rng.normal(size=(2, 3)).astype(np.float32), np.float32([[1, 1e20, 0], [1e20] * 3])
    each = loss.per_example(z, labels)
    [gz] = value_and_gradients(lambda z: ops.sum(loss.per_example(z, labels)), z)[1]
    known = [0, 2]
    theirs = optax.sigmoid_focal_loss(z[0, known], labels[0, known], alpha=0.25, gamma=2)
    np.testing.assert_allclose(each, [theirs.sum(), 0], rtol=1e-5)
    assert np.isfinite(gz).all() and gz[0, known].all() and not gz[labels == 1e20].any()


def test_the_best_path_is_read_without_blanks_and_repetitions():
    steps = [[0, 1, 1, 0, 1, 2, 2], [2, 2, 1, 1, 0, 0, 1], [0] * 7]
    p = np.eye(3)[np.array(steps)]
    assert [word.tolist() for word in best_path(p)] == [[1, 1, 2], [2, 1, 1], []]
    mask = np.array([[1, 1, 1, 0, 1, 0, 0]] * 3)
    assert [word.tolist() for word in best_path(p, mask)] == [[1], [2, 1], []]
    assert [word.tolist() for word in best_path(p, blank=2)][1] == [1, 0, 1]


# losses that do not fit the output
UNFIT = [
    (SoftmaxCrossEntropy(class_weights=(1, 2)), r"class_weights must have one for each of 3 units"),
    (Mse(unit_weights=(1, 2)), r"Mse.unit_weights must have one for each of 3 units, got \(1, 2\)"),
    (losses.Infogain(gain=((1, 0), (0, 1))), "Infogain.gain must have one for each of 3 units"),
    (losses.MixtureDensity(components=1, width=2), "needs 4 units, got 3"),
    (losses.Quantile(quantiles=(0.1, 0.9)), r"needs 2 units .* each of \(0.1, 0.9\), got 3 units"),
    (losses.Gaussian(), "gaussian needs a mean and a variance for each number, got 3 units"),
    (losses.Ctc(label_length=2), r"ctc needs \(steps, units\) with units above 0, got \(3,\)"),
]


@pytest.mark.parametrize("loss, message", UNFIT, ids=label)
def test_a_network_whose_loss_does_not_fit_its_output_is_not_built(loss, message):
    with pytest.raises(ShapeError, match=message):
        NetworkConf(input_shape=(2,), layers=[Output(units=3, loss=loss)])


@pytest.mark.parametrize(
    "loss", [SoftmaxCrossEntropy(), losses.KlDivergence(), losses.MulticlassHinge()], ids=label
)
@pytest.mark.parametrize("layer", [Output(units=1), LossLayer()], ids=label)
def test_one_unit_is_no_choice_among_classes(layer, loss):
    z = np.array([[-3.0], [2.0]])
    np.testing.assert_array_equal(scipy.special.softmax(z, axis=1), 1)  # always, whatever z
    with pytest.raises(ShapeError, match="needs 2 units or more, got 1.*sigmoid_cross_entropy"):
        NetworkConf(input_shape=(1,), layers=[replace(layer, loss=loss)])


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("absent", ["labels", "weights", "mask"])
def test_where_nothing_counts_loss_and_gradient_are_0(reduction, absent, rng):
    loss = SoftmaxCrossEntropy(ignore_label=255)
    layers = [Output(units=4, loss=loss, reduction=reduction)]
    replica = Replica(NetworkConf(input_shape=(6, 5), layers=layers))
    columns = {
        "features": rng.normal(size=(2, 6, 5)).astype(np.float32),
        "labels": np.full((2, 6), 255 if absent == "labels" else 1, np.int32),
        "weights": np.full(2, absent != "weights", np.float32),
        "mask": np.full((2, 6), absent != "mask", np.float32),
    }
    total, _ = replica.gradient(Batch(columns=columns, ids=np.arange(2, dtype=np.uint64)))
    assert float(total) == 0 and not replica.grad.any()


def test_places_with_an_ignored_label_are_left_out_of_the_mean(rng):
    layer = LossLayer(loss=SoftmaxCrossEntropy(ignore_label=255))
    z, labels = rng.normal(size=(2, 3, 2, 2)), rng.integers(0, 3, (2, 2, 2))
    labels[0, 0], labels[1] = 255, 255
    each = optax.softmax_cross_entropy_with_integer_labels(z[0, :, 1].T, labels[0, 1])
    found = layer.per_example(z, labels)
    np.testing.assert_allclose(found, [np.mean(each), 0], rtol=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 2), (2, 2, 3, 1)], ids=["sequences", "images"])
def test_values_without_a_label_are_left_out_of_the_mean(shape, rng):
    layer = LossLayer(loss=Mse(ignore_label=-9))
    z, labels = rng.normal(size=shape), rng.normal(size=shape)
    axis = 1 if len(shape) > 3 else -1
    labels[1], labels[0, 0, ..., 0] = -9, -9
    if len(shape) == 3:
        labels[0, 2] = -9
    else:
        labels[0, :, 2] = -9
    terms = np.where(labels == -9, 0, (z - labels) ** 2)[0].mean(axis if axis < 0 else 0)
    found = layer.per_example(z, labels)
    np.testing.assert_allclose(found, [terms[:2].mean(), 0], rtol=1e-5)


REFUSED = [
    (lambda: losses.Ctc(label_length=0), "Ctc.label_length must be an integer >= 1, got 0"),
    (lambda: losses.Ctc(label_length=1, blank=-1), "Ctc.blank must be an integer >= 0, got -1"),
    (lambda: SoftmaxCrossEntropy(labels="hot"), "labels must be 'class' or 'one_hot', got 'hot'"),
    (lambda: SoftmaxCrossEntropy(class_weights=(1, -1)), "class_weights[1] must be a number >= 0"),
    (lambda: SoftmaxCrossEntropy(class_weights=(0, 0)), "not all of them 0, got (0, 0)"),
    (
        lambda: SoftmaxCrossEntropy(ignore_label=0.5),
        "ignore_label must be an integer or None, got 0.5",
    ),
    (
        lambda: SoftmaxCrossEntropy(labels="one_hot", ignore_label=0),
        "ignore_label must be None where labels are one_hot, got 0",
    ),
    (
        lambda: SoftmaxCrossEntropy(label_smoothing=1.5),
        "SoftmaxCrossEntropy.label_smoothing must be a number in [0, 1], got 1.5",
    ),
    (lambda: SoftmaxCrossEntropy(focal_gamma=-1), "focal_gamma must be a number >= 0, got -1"),
    (
        lambda: SigmoidCrossEntropy(focal_alpha=2),
        "SigmoidCrossEntropy.focal_alpha must be a number in [0, 1] or None, got 2",
    ),
    (lambda: SigmoidCrossEntropy(ignore_label="x"), "ignore_label must be a finite number or None"),
    (
        lambda: Mse(unit_weights=3),
        "Mse.unit_weights must be a sequence of numbers >= 0 or None, got 3",
    ),
    (lambda: Mse(unit_weights=(0, 0)), "Mse.unit_weights must be numbers >= 0, not all of them 0"),
    (lambda: losses.Hinge(labels="one_hot"), "Hinge.labels must be 'signs' or 'class'"),
    (lambda: losses.Infogain(gain=((1, 2), (3,))), "gain must be as many rows of numbers as a row"),
    (lambda: losses.Contrastive(margin=0), "Contrastive.margin must be a number above 0, got 0"),
    (lambda: losses.Contrastive(legacy=1), "Contrastive.legacy must be True or False, got 1"),
    (lambda: losses.MixtureDensity(components=0, width=1), "components must be an integer >= 1"),
    (lambda: losses.Quantile(quantiles=()), "Quantile.quantiles must be a sequence of one or more"),
    (lambda: losses.Quantile(quantiles=[1]), "must be a number in (0, 1), got 1"),
    (lambda: losses.Huber(delta=0), "Huber.delta must be a number above 0, got 0"),
    (lambda: losses.Loss.from_dict({"type": "huber", "delt": 1}), "did you mean 'delta'?"),
    (lambda: losses.Loss.from_dict({"type": "hing"}), "got 'hing'; did you mean 'hinge'?"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


def test_predictions_and_losses_equal_scikit_learn(z, rng):
    classes, values = rng.integers(0, UNITS, N), rng.normal(size=(N, UNITS))
    yes = rng.integers(0, 2, (N, UNITS))
    probabilities = SoftmaxCrossEntropy().output(z)
    softmax = metrics.log_loss(classes, probabilities, labels=range(UNITS))
    assert SoftmaxCrossEntropy().per_example(z, classes).mean() == pytest.approx(softmax)
    chance = SigmoidCrossEntropy().output(z)
    sigmoid = sum(metrics.log_loss(yes[:, i], chance[:, i], labels=[0, 1]) for i in range(UNITS))
    assert SigmoidCrossEntropy().per_example(z, yes).mean() == pytest.approx(sigmoid)
    assert Mse().per_example(z, values).mean() == pytest.approx(
        metrics.mean_squared_error(values, Mse().output(z))
    )
    assert Mae().per_example(z, values).mean() == pytest.approx(
        metrics.mean_absolute_error(values, Mae().output(z))
    )


def test_losses_of_a_batch_over_what_counts():
    """Caffe's normalization: three examples of two steps; two of them ignore their second step."""
    z = np.random.default_rng(3).normal(size=(3, 2, UNITS))
    labels = np.array([[0, 9], [1, 9], [2, 3]], np.int32)
    each = -np.log(np.exp(z) / np.exp(z).sum(axis=2, keepdims=True))
    each = np.take_along_axis(each, np.where(labels == 9, 0, labels)[..., None], 2)[..., 0]
    total = (each * (labels != 9)).sum()
    loss = SoftmaxCrossEntropy(ignore_label=9)
    wanted = {"sum": total / 3, "full": total / 6, "valid": total / 4, "total": total}
    for reduction, value in wanted.items():
        layer = LossLayer(loss=loss, reduction=reduction)
        assert layer.per_example(z, labels).mean() == pytest.approx(value, rel=1e-9)
    rows, labels = z[:, 0], np.array([0, 9, 2], np.int32)
    each = optax.softmax_cross_entropy_with_integer_labels(rows[::2], labels[::2])
    wanted = {"mean": each.sum() / 3, "valid": each.mean(), "total": each.sum()}
    for reduction, value in wanted.items():
        layer = LossLayer(loss=loss, reduction=reduction)
        assert layer.per_example(rows, labels).mean() == pytest.approx(float(value), rel=1e-6)
