"""Averages of the weights, against optax and the formula's sum."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparkdl.nn import (
    Adam,
    ClipNorm,
    Dense,
    Ftrl,
    Lars,
    MaxNorm,
    Momentum,
    NetworkConf,
    Output,
    Sgd,
    initial_params,
    initial_slots,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.optimization.weight_average import averaged_params, begin_averages
from tests.nn.support import label

DECAYS = [0.001, 0.5, 0.9, 0.999, 0.99999]


def network(first=None, **options):
    """Returns two layers, the first with own options; 8 + 4, 12 + 3 parameters."""
    layers = [Dense(units=4, **first or {}), Output(units=3)]
    return NetworkConf(**{"input_shape": (2,), "layers": layers, "seed": 1} | options)


def averaging(decay, optimizer=Momentum(learning_rate=0.1), **options):  # noqa: B008
    return network(optimizer=replace(optimizer, ema_decay=decay), **options)


def train(conf, updates, seed=0):
    """Returns (a trained replica, [its weights after each update])."""
    replica, rng, weights = Replica(conf), np.random.default_rng(seed), []
    for t in range(1, updates + 1):
        replica.grad[:] = rng.normal(size=len(replica.grad))
        replica.apply(conf.rate_at(t - 1, 0), t)
        weights.append(replica.params.copy())
    return replica, weights


def average_of(replica):
    return averaged_params(replica.conf, replica.params, replica.slots)


def mean(weights, decay):
    """Returns the mean with a factor of `decay` per update since, in float64."""
    factors = decay ** np.arange(len(weights) - 1.0, -1, -1)
    return factors @ np.array(weights, float) / factors.sum()


@pytest.mark.parametrize("decay", DECAYS)
def test_it_is_the_ema_of_optax_without_bias(decay, x64):
    replica, weights = train(averaging(decay), 30)
    reference = optax.ema(decay, debias=True)
    state = reference.init(jnp.zeros(len(weights[0])))
    for one in weights:
        expected, state = reference.update(jnp.asarray(one, float), state)
    np.testing.assert_allclose(average_of(replica), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("updates", [1, 2, 7, 400])
@pytest.mark.parametrize("decay", DECAYS)
def test_it_is_the_weighted_mean_of_the_weights(decay, updates):
    replica, weights = train(averaging(decay), updates)
    expected = mean(weights, decay)
    np.testing.assert_allclose(average_of(replica), expected, rtol=1e-4, atol=1e-5)


SETTINGS = {
    "constraints": {"constraints": [MaxNorm(limit=0.4)]},
    "decoupled decay and clipping": {
        "optimizer": Adam(weight_decay=0.3),
        "clipping": ClipNorm(limit=0.5),
    },
    "weights of its own": {"optimizer": Ftrl(learning_rate=0.1, l1=0.1)},
    "trust ratios": {"optimizer": Lars(learning_rate=0.5)},
    "no slots": {"optimizer": Sgd(learning_rate=0.1)},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_weights_are_those_of_training_without_an_average(name):
    """The average is of the weights after all else that an update does."""
    conf = averaging(0.8, **SETTINGS[name])
    plain = replace(conf, optimizer=replace(conf.optimizer, ema_decay=None))
    replica, weights = train(conf, 12)
    expected = train(plain, 12)[1]
    np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(average_of(replica), mean(expected, 0.8), rtol=1e-5, atol=1e-6)


def test_without_it_nothing_is_kept():
    conf, n = network(optimizer=Momentum()), 27
    assert dict(conf.slots_layout.entries) == {"velocity": (n,)}
    slots = initial_slots(conf)
    assert begin_averages(conf, initial_params(conf), slots) is slots


def test_it_is_a_slot_behind_the_optimizer_s_own():
    conf = averaging(0.9, Adam())
    assert [*conf.slots_layout.slices] == ["mean", "square", "weight_average"]


def test_layers_with_optimizers_of_their_own_have_averages_of_their_own():
    plain, slow = Sgd(learning_rate=0.1), Sgd(learning_rate=0.1, ema_decay=0.5)
    conf = averaging(0.9, first={"optimizer": plain, "bias_optimizer": slow})
    assert dict(conf.slots_layout.entries) == {
        "dense_1/b:weight_average": (4,),
        "output_1/W:velocity": (15,),
        "output_1/W:weight_average": (15,),
    }
    replica, weights = train(conf, 10)
    found = average_of(replica)
    np.testing.assert_array_equal(found[:8], replica.params[:8])
    np.testing.assert_allclose(found[8:12], mean(weights, 0.5)[8:12], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[12:], mean(weights, 0.9)[12:], rtol=1e-5, atol=1e-6)


def test_fixed_weights_are_what_they_are():
    replica, _ = train(averaging(0.9, first={"rate_factor": 0.0}), 50)
    found = average_of(replica)
    np.testing.assert_array_equal(found[:12], initial_params(replica.conf)[:12])
    assert (found[12:] != replica.params[12:]).all()


def test_an_average_of_zeros_begins_with_the_weights():
    conf = averaging(0.9)
    params, slots = initial_params(conf), initial_slots(conf)
    np.testing.assert_array_equal(averaged_params(conf, params, slots), params)
    begun = conf.slots_layout.views(begin_averages(conf, params, slots))
    np.testing.assert_array_equal(begun["weight_average"], params)
    assert not begun["velocity"].any() and not slots.any()
    kept = begin_averages(conf, params + 1, begin_averages(conf, params, slots))
    np.testing.assert_array_equal(conf.slots_layout.views(kept)["weight_average"], params)


def test_the_first_update_forgets_what_was_there():
    conf = averaging(0.99)
    replica = Replica(conf)
    replica.slots[:] = begin_averages(conf, replica.params, replica.slots)
    replica.grad[:] = 1
    replica.apply(1.0, 1)
    np.testing.assert_allclose(average_of(replica), replica.params, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("failing", [{1, 2, 3}, {3, 7}], ids=label)
def test_updates_that_float16_skips_count_with_unchanged_weights(failing):
    conf = averaging(0.7, Adam(learning_rate=0.1), dtype="float16")
    replica, rng, weights = Replica(conf), np.random.default_rng(0), []
    for t in range(1, 10):
        replica.grad[:] = rng.normal(size=len(replica.grad)) * (np.inf if t in failing else 1)
        replica.apply(0.1, t)
        weights.append(replica.params.copy())
    assert replica.left_out == len(failing)
    np.testing.assert_allclose(average_of(replica), mean(weights, 0.7), rtol=1e-5, atol=1e-6)
