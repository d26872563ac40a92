"""Losses against optax and scikit-learn."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn import metrics

from sparkdl.engine import ops
from sparkdl.nn.losses import Loss, Mae, Mse, SigmoidCrossEntropy, SoftmaxCrossEntropy
from tests.nn.examples import LOSSES
from tests.nn.support import value_and_gradients

N, UNITS = 6, 4

THEIRS = {
    "softmax_cross_entropy": optax.softmax_cross_entropy_with_integer_labels,
    "sigmoid_cross_entropy": lambda z, y: optax.sigmoid_binary_cross_entropy(z, y).sum(axis=1),
    "mse": lambda z, y: optax.squared_error(z, y).mean(axis=1),
    "mae": lambda z, y: jnp.abs(z - y).mean(axis=1),
}


@pytest.fixture
def z(rng):
    return rng.normal(size=(N, UNITS)) * 4


def labels_for(loss, rng):
    if loss.label_kind == "class":
        return rng.integers(0, UNITS, N).astype(np.int32)
    return rng.uniform(0, 1, (N, UNITS))


def test_every_loss_is_compared():
    assert set(THEIRS) == set(Loss.members)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_equals_optax(loss, z, rng, x64):
    labels = labels_for(loss, rng)
    ours = loss.per_example(z, labels)
    assert ours.shape == (N,)
    np.testing.assert_allclose(ours, THEIRS[loss.type_name](z, labels), rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_equals_that_of_jax(loss, z, rng, x64):
    labels = labels_for(loss, rng)
    _, (gz,) = value_and_gradients(lambda z: ops.mean(loss.per_example(z, labels)), z)
    theirs = jax.grad(lambda z: THEIRS[loss.type_name](z, labels).mean())(jnp.asarray(z))
    np.testing.assert_allclose(gz, theirs, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_label_shape_follows_from_its_kind(loss, z, rng):
    assert labels_for(loss, rng).shape[1:] == loss.label_shape(UNITS)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_extreme_outputs_stay_finite(loss):
    z = np.array([[1e4, -1e4, 0.0]], np.float32)
    labels = np.array([1]) if loss.label_kind == "class" else np.array([[0.0, 1.0, 1.0]])
    assert np.isfinite(loss.per_example(z, labels.astype(np.int32))).all()
    assert np.isfinite(loss.output(z)).all()


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
