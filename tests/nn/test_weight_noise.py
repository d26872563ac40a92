"""Weight noise in training: its amount, the weights it applies to, and what it depends on."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import NetworkConf, forward, initial_params
from sparkdl.nn.layers import (
    LSTM,
    Bidirectional,
    Dense,
    Frozen,
    GaussianNoise,
    Output,
    TimeDistributed,
)
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.weight_noise import DropConnect, GaussianWeightNoise, add_weight_noise
from tests.nn.support import label

IDS = np.array([7, 3, 12], np.uint64)


def seen(layer, training=True, ids=IDS, epoch=0, stream=2, in_shape=(200,)):
    """Returns the parameters, initially all 2, with noise as a batch sees them."""
    run = Run(training=training, seed=1, stream=stream, ids=ids, epoch=epoch)
    shapes = layer.param_shapes(in_shape).items()
    return add_weight_noise(layer, {n: np.full(s, 2, np.float32) for n, s in shapes}, run)


def test_drop_connect_drops_its_share_and_scales_the_rest():
    params = seen(Dense(units=300, weight_noise=DropConnect(rate=0.3)))
    assert (params["W"] == 0).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(params["W"][params["W"] != 0], 2 / 0.7, rtol=1e-6)
    np.testing.assert_array_equal(params["b"], 2)


@pytest.mark.parametrize("additive, std", [(True, 0.1), (False, 0.2)])
def test_gaussian_noise_has_the_deviation_that_was_asked_for(additive, std):
    noise = GaussianWeightNoise(std=0.1, additive=additive, biases=True)
    params = seen(Dense(units=300, weight_noise=noise))
    assert params["W"].mean() == pytest.approx(2, abs=0.005)
    assert params["W"].std() == pytest.approx(std, rel=0.02)
    assert params["b"].std() == pytest.approx(std, rel=0.2)


def test_the_numbers_depend_on_the_batch_s_first_example_the_layer_the_epoch_and_the_name():
    layer = Dense(units=50, weight_noise=DropConnect())
    first = seen(layer)["W"]
    np.testing.assert_array_equal(first, seen(layer, ids=IDS[:1])["W"])
    for change in ({"ids": IDS[1:]}, {"epoch": 1}, {"stream": 3}):
        assert (first != seen(layer, **change)["W"]).mean() == pytest.approx(0.5, abs=0.02)
    both = seen(LSTM(units=50, weight_noise=DropConnect()), in_shape=(4, 50))
    assert (both["W"] != both["RW"]).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    "layer, training",
    [(Dense(units=3), True), (Dense(units=3, weight_noise="drop_connect"), False)],
)
def test_nothing_changes_in_use_or_where_none_was_asked_for(layer, training):
    assert all((p == 2).all() for p in seen(layer, training=training).values())


def test_layers_inside_others_have_their_noise_and_frozen_ones_none():
    inside = {"weight_noise": DropConnect()}
    both = seen(Bidirectional(layer=LSTM(units=5, **inside)), in_shape=(4, 5))
    changed = {name for name, value in both.items() if (value == 0).any()}
    assert changed == {"forward_W", "forward_RW", "backward_W", "backward_RW"}
    steps = seen(TimeDistributed(layer=Dense(units=5, **inside)), in_shape=(4, 5))
    assert (steps["W"] == 0).any()
    frozen = seen(Frozen(layer=Dense(units=5, **inside)))
    assert (frozen["W"] == 2).all()


def test_each_step_of_a_sequence_has_noise_of_its_own():
    layer = TimeDistributed(layer=GaussianNoise(std=1.0))
    run = Run(training=True, seed=1, ids=IDS)
    y = layer.forward({}, np.zeros((3, 4, 5), np.float32), run)
    assert len(np.unique(y)) == y.size


def test_a_network_trains_on_the_changed_weights_and_is_used_without():
    conf = NetworkConf(
        input_shape=(3,), layers=[Output(units=4, weight_noise="drop_connect")], seed=5
    )
    params = conf.params_layout.views(initial_params(conf))
    x = np.ones((3, 3), np.float32)
    used = forward(conf, params, {}, x).logits
    np.testing.assert_allclose(used, x @ params["output_1/W"], rtol=1e-5)
    trained = forward(conf, params, {}, x, training=True, ids=IDS).logits
    assert (used != trained).any()
    with pytest.raises(ConfigError, match="needs the ids of the examples"):
        forward(conf, params, {}, x, training=True)


REFUSED = [
    (lambda: DropConnect(rate=1), "DropConnect.rate must be a number in [0, 1), got 1"),
    (lambda: DropConnect(biases=1), "DropConnect.biases must be True or False, got 1"),
    (lambda: GaussianWeightNoise(std=0), "GaussianWeightNoise.std must be a number above 0, got 0"),
    (lambda: Dense(units=1, weight_noise="drop_conect"), "did you mean 'drop_connect'?"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses_options(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
