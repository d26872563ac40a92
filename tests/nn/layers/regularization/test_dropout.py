"""Dropout: the dropped share, and independence of an example's position."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn.layers import Dropout
from sparkdl.nn.layers.core.run import Run

IDS = np.arange(2000, dtype=np.uint64)


def dropped(rate=0.3, ids=IDS, shape=(50,), **options):
    run = Run(**{"training": True, "seed": 1, "stream": 3, "epoch": 0, "ids": ids} | options)
    return Dropout(rate=rate).forward({}, np.ones((len(ids), *shape), np.float32), run)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_drops_its_share_and_scales_the_rest(rate):
    y = dropped(rate)
    error = 5 * (rate * (1 - rate) / y.size) ** 0.5
    assert (y == 0).mean() == pytest.approx(rate, abs=error)
    np.testing.assert_allclose(y[y != 0], 1 / (1 - rate), rtol=1e-6)
    assert y.mean() == pytest.approx(1, abs=error / (1 - rate))


def test_an_example_loses_the_same_numbers_in_any_batch():
    order = np.random.default_rng(0).permutation(len(IDS))
    np.testing.assert_array_equal(dropped()[order], dropped(ids=IDS[order]))
    np.testing.assert_array_equal(dropped()[7:9], dropped(ids=IDS[7:9]))


@pytest.mark.parametrize("change", [{"seed": 2}, {"stream": 4}, {"epoch": 1}], ids=str)
def test_seed_layer_and_epoch_each_give_others(change):
    one, two = dropped() == 0, dropped(**change) == 0
    # two independent masks agree in 0.3^2 + 0.7^2 of all positions
    assert (one == two).mean() == pytest.approx(0.58, abs=0.01)


def test_nothing_is_dropped_in_use_or_at_rate_0():
    np.testing.assert_array_equal(dropped(training=False), 1)
    np.testing.assert_array_equal(dropped(rate=0, ids=IDS), 1)


def test_needs_to_know_which_examples_they_are():
    with pytest.raises(ConfigError, match="needs the ids of the examples to train"):
        Dropout().forward({}, np.ones((2, 3)), Run(training=True, seed=0))
