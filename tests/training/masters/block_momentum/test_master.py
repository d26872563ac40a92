"""BlockMomentum matches a simulation by hand."""

import math

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Dense, Frozen, Output
from sparkdl.training.masters.block_momentum.master import BlockMomentum
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.training.by_hand import CONF, crew, mean, states_of
from tests.training.master_table import SMALL, assert_close
from tests.training.models import assert_equal
from tests.training.problems import EVEN, UNEVEN, Partitions, perceptron

BLOCK = {"block_size_per_worker": 10} | SMALL

CASES = {
    # workers, records of partitions, options, block momentum
    "two": (2, EVEN, {}, 0.5),
    "three, uneven": (3, UNEVEN, {"block_learning_rate": 0.7}, 2 / 3),
    "one": (1, UNEVEN, {}, 0.0),
    "some without data": (3, [2], {"block_momentum": 0.8}, 0.8),
    "without Nesterov": (2, UNEVEN, {"use_nesterov_momentum": False}, 0.5),
    "momentum goes on": (
        2,
        UNEVEN,
        {"reset_sgd_momentum_after_aggregation": False, "block_learning_rate": 0.5},
        0.5,
    ),
    "time constant": (2, EVEN, {"block_momentum_as_time_constant": 30}, math.exp(-20 / 30)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_equals_a_simulation(name, crews):
    size, counts, options, momentum = CASES[name]
    master = BlockMomentum(**BLOCK | options)
    assert master.momentum_of(size) == pytest.approx(momentum)
    weights, slots = crew(1)[0].params, 0 * crew(1)[0].params
    first, step, idle = weights, np.zeros_like(weights), 0
    for _, shares, state in states_of(master, crews(size), counts, epochs=9):
        begin = weights + momentum * step if master.use_nesterov_momentum else weights
        hands = crew(size, begin, slots)
        for hand, batches in zip(hands, shares, strict=True):
            for batch in batches:
                hand.step(batch)
        params, averaged = mean(hands)
        slots = 0 * averaged if master.reset_sgd_momentum_after_aggregation else averaged
        step = momentum * step + master.block_learning_rate * (params - begin)
        weights = weights + step
        assert_close(state.params, weights)
        assert_close(state.master_state["block_step"], step, 1e-4)
        np.testing.assert_allclose(state.slots, slots, atol=1e-5)
        idle += not all(shares)
    assert np.abs(weights - first).max() > 0.1, "else nothing was asked"
    assert idle or sum(counts) >= size


@pytest.mark.slow
def test_a_fit_goes_on_with_the_step_of_the_one_before(crews):
    both, whole = Network(CONF), Network(CONF)
    master, data = BlockMomentum(**BLOCK), Partitions(UNEVEN)
    for _ in range(2):
        both.fit(data, 2, master, crews(2))
    whole.fit(data, 4, master, crews(2))
    assert_equal(both.state, whole.state)
    assert np.abs(both.state.master_state["block_step"]).max() > 0
    both.fit(data, 1, ParameterAveraging(aggregation="driver", **SMALL), crews(2))
    assert both.state.master_state == {}, "it would be of other weights"


@pytest.mark.slow
def test_steps_of_older_checkpoints_do_not_move_what_is_not_trained(crews):
    """Codecs of older versions added noise to them, and momentum kept it."""
    layers = [Frozen(layer=Dense(units=6)), Output(units=3)]
    network, frozen = Network(perceptron(layers=layers)), slice(0, 4 * 6 + 6)
    master, data = BlockMomentum(**BLOCK), Partitions(EVEN)
    network.fit(data, 1, master, crews(2))
    before = network.state.params[frozen].copy()
    network.state.master_state["block_step"][frozen] = 0.1
    network.fit(data, 1, master, crews(2))
    np.testing.assert_array_equal(network.state.params[frozen], before)
    step = network.state.master_state["block_step"]
    assert not step[frozen].any() and step.any()


BAD = {
    "block below a minibatch": ({"block_size_per_worker": 3}, "must be an integer >= 4, got 3"),
    "momentum of 1": (
        {"block_momentum": 1.0},
        r"block_momentum must be a number in \[0, 1\) or None",
    ),
    "constant of 0": (
        {"block_momentum_as_time_constant": 0},
        "must be a number above 0 or None, got 0",
    ),
    "both": (
        {"block_momentum": 0.5, "block_momentum_as_time_constant": 9},
        "as_time_constant must be None where block_momentum is given, got 9",
    ),
    "flag": ({"use_nesterov_momentum": 1}, "use_nesterov_momentum must be True or False"),
    "rate": ({"block_learning_rate": 0}, "block_learning_rate must be a number above 0, got 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_refuses(name):
    options, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        BlockMomentum(**BLOCK | options)
