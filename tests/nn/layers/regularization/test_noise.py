"""Noise in training: its mean, and its dependence on the example."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import layers
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import label

IDS = np.arange(3000, dtype=np.uint64)
LAYERS = [
    layers.SpatialDropout(rate=0.3),
    layers.StochasticDepth(rate=0.3),
    layers.AlphaDropout(rate=0.3),
    layers.GaussianDropout(rate=0.3),
    layers.GaussianNoise(std=0.5),
    layers.RRelu(),
]


def noisy(layer, x, ids=IDS, **options):
    run = Run(**{"training": True, "seed": 1, "stream": 3, "epoch": 0, "ids": ids} | options)
    return layer.forward({}, x, run)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_an_example_gets_the_same_noise_in_any_batch_and_another_each_epoch(layer, rng):
    x = rng.normal(size=(40, 6, 5)).astype(np.float32)
    y, order = noisy(layer, x, IDS[:40]), rng.permutation(40)
    np.testing.assert_array_equal(noisy(layer, x[order], IDS[:40][order]), y[order])
    np.testing.assert_array_equal(noisy(layer, x[7:9], IDS[7:9]), y[7:9])
    assert (noisy(layer, x, IDS[:40], epoch=1) != y).any()


@pytest.mark.parametrize("layer", LAYERS[:5], ids=str)
def test_nothing_changes_in_use(layer, rng):
    x = rng.normal(size=(4, 6, 5))
    np.testing.assert_array_equal(layer.forward({}, x, Run(training=False, seed=0)), x)


def test_spatial_dropout_takes_whole_channels(rng):
    x = np.ones((len(IDS), 8, 3, 2), np.float32)
    y = noisy(layers.SpatialDropout(rate=0.3), x).reshape(len(IDS), 8, 6)
    assert (y == y[:, :, :1]).all()
    assert (y == 0).mean() == pytest.approx(0.3, abs=0.02)
    steps = noisy(layers.SpatialDropout(rate=0.3), x[:, :, :, 0])
    assert (steps == steps[:, :1]).all() and 0 < (steps == 0).mean() < 1


@pytest.mark.parametrize("shape", [(8,), (4, 5), (2, 3, 4)])
def test_stochastic_depth_takes_whole_examples(shape):
    y = noisy(layers.StochasticDepth(rate=0.3), np.ones((len(IDS), *shape), np.float32))
    y = y.reshape(len(IDS), -1)
    assert (y == y[:, :1]).all() and {*np.unique(y)} == {0, np.float32(1 / 0.7)}
    assert (y == 0).mean() == pytest.approx(0.3, abs=0.03)


def test_alpha_dropout_keeps_mean_and_variance(rng):
    x = rng.normal(size=(len(IDS), 100)).astype(np.float32)
    y = noisy(layers.AlphaDropout(rate=0.4), x)
    assert y.mean() == pytest.approx(0, abs=0.02)
    assert y.var() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_gaussian_dropout_has_the_variance_of_dropout(rate):
    y = noisy(layers.GaussianDropout(rate=rate), np.full((len(IDS), 100), 2.0, np.float32))
    assert y.mean() == pytest.approx(2, rel=0.01)
    assert y.var() == pytest.approx(4 * rate / (1 - rate), rel=0.03)


def test_gaussian_noise_has_the_deviation_that_was_asked_for():
    y = noisy(layers.GaussianNoise(std=0.2), np.full((len(IDS), 100), 3.0, np.float32))
    assert y.mean() == pytest.approx(3, abs=0.01)
    assert y.std() == pytest.approx(0.2, rel=0.02)


def test_the_slopes_of_rrelu_lie_between_its_bounds():
    y = noisy(layers.RRelu(low=0.1, high=0.4), np.full((len(IDS), 10), -1.0, np.float32))
    assert -0.4 <= y.min() < -0.39 and -0.11 < y.max() <= -0.1
    used = layers.RRelu(low=0.1, high=0.4).forward({}, -np.ones(3), Run(training=False, seed=0))
    np.testing.assert_allclose(used, -0.25)


REFUSED = [
    (lambda: layers.AlphaDropout(rate=1), "AlphaDropout.rate must be a number in [0, 1), got 1"),
    (
        lambda: layers.GaussianDropout(rate=-1),
        "GaussianDropout.rate must be a number in [0, 1), got -1",
    ),
    (lambda: layers.GaussianNoise(std=-1), "GaussianNoise.std must be a number >= 0, got -1"),
    (lambda: layers.RRelu(low=0.5, high=0.5), "RRelu.high must be a number above low (0.5)"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses_options(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


def test_spatial_dropout_refuses_rows():
    with pytest.raises(ShapeError, match="takes sequences, images or volumes, got .*Dropout takes"):
        layers.SpatialDropout().out_shape((3,))
