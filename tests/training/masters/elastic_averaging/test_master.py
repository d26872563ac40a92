"""ElasticAveraging gives what a simulation by hand gives."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from tests.training.by_hand import crew, states_of
from tests.training.master_table import SMALL, assert_close
from tests.training.problems import EVEN, UNEVEN

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
    """Draw workers that have trained, and the center, nearer to each other: the new center."""
    moved = np.zeros_like(center)
    for hand in hands:
        if hand.examples:
            away = alpha * (hand.params - center)
            hand.params = hand.params - away
            moved += away
            hand.examples = 0.0
    return center + moved


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
