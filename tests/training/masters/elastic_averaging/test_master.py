"""ElasticAveraging matches a simulation by hand."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Dense, Frozen, Output
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from sparkdl.training.network import Network
from tests.training.by_hand import crew, states_of
from tests.training.master_table import SMALL, assert_close
from tests.training.problems import EVEN, UNEVEN, Partitions, perceptron

CASES = {
    # workers, records of partitions, options, alpha
    "two": (2, EVEN, {"tau": 2, "exchanges_per_round": 3}, 0.45),
    "three, uneven": (3, UNEVEN, {"tau": 3, "exchanges_per_round": 1, "alpha": 0.2}, 0.2),
    "one": (1, UNEVEN, {"tau": 2, "exchanges_per_round": 2}, 0.9),
    "each minibatch": (2, UNEVEN, {"tau": 1, "exchanges_per_round": 4, "alpha": 0.4}, 0.4),
    "some without data": (3, [2], {"tau": 2, "alpha": 0.5}, 0.5),
    "one around a store": (1, EVEN, {"tau": 2, "mode": "async"}, 0.9),
    "one of three around a store": (3, [1], {"tau": 2, "mode": "async", "alpha": 0.5}, 0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_equals_a_simulation(name, crews):
    size, counts, options, alpha = CASES[name]
    master = ElasticAveraging(**options, **SMALL)
    hands = crew(size)
    first = center = hands[0].params
    idle = 0
    for _, shares, state in states_of(master, crews(size), counts, epochs=9):
        steps = max(map(len, shares))
        for k in range(steps):
            for hand, share in zip(hands, shares, strict=True):
                if k < len(share):
                    hand.step(share[k])
            if (k + 1) % master.tau == 0 or k + 1 == steps:
                center = drawn(hands, center, alpha)
        idle += not all(shares)
        assert_close(state.params, center)
        slots = sum(hand.slots for hand in hands) / size
        np.testing.assert_allclose(state.slots, slots, atol=1e-5)
    assert np.abs(center - first).max() > 0.1, "else nothing was asked"
    assert idle or sum(counts) >= size


def drawn(hands, center, alpha):
    """Moves trained workers and the center toward each other; returns the new center."""
    moved = np.zeros_like(center)
    for hand in hands:
        if hand.examples:
            away = alpha * (hand.params - center)
            hand.params = hand.params - away
            moved += away
            hand.examples = 0.0
    return center + moved


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_workers_of_older_checkpoints_get_the_weights_that_are_not_trained_of_the_center(
    mode, crews
):
    """Codecs of older versions added different noise to them in each worker."""
    layers = [Frozen(layer=Dense(units=6)), Output(units=3)]
    network = Network(perceptron(layers=layers))
    master = ElasticAveraging(tau=2, mode=mode, codec="OneBit", **SMALL)
    network.fit(Partitions(EVEN), 1, master, crews(2))
    start, frozen = network.state, slice(0, 4 * 6 + 6)
    for rank, own in enumerate(start.worker_states):
        own["params"][frozen] += rank + 1
    network.fit(Partitions(EVEN), 1, master, crews(2))
    vectors = [own["params"] for own in network.state.worker_states] + [network.state.params]
    assert len(vectors) == 3
    for vector in vectors:
        np.testing.assert_array_equal(vector[frozen], start.params[frozen])


BAD = {
    "tau": ({"tau": 0}, "tau must be an integer >= 1, got 0"),
    "alpha": ({"alpha": 1.0}, r"alpha must be a number in \(0, 1\) or None, got 1.0"),
    "mode": ({"mode": "hogwild"}, r"mode must be 'sync' or 'async', got 'hogwild'"),
    "round": ({"exchanges_per_round": 0}, "exchanges_per_round must be an integer >= 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_refuses(name):
    options, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        ElasticAveraging(**options)
