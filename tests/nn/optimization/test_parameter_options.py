"""Which parts of the parameter vector are trained."""

import numpy as np
import pytest

from sparkdl.nn import Dense, Frozen, NetworkConf, Output
from sparkdl.nn.optimization.parameter_options import fixed_parts, moved_parts

TRAINED, FROZEN = Dense(units=2), Frozen(layer=Dense(units=2))
STACKS = {  # layers before the output, and the fixed numbers (a Dense has 6)
    "all trained": ([TRAINED], []),
    "frozen first": ([FROZEN, TRAINED], range(6)),
    "frozen in between": ([TRAINED, FROZEN, FROZEN, TRAINED], range(6, 18)),
    "a rate of 0": ([TRAINED, Dense(units=2, rate_factor=0.0)], range(6, 12)),
    "biases alone": ([Dense(units=2, bias_rate_factor=0.0)], [4, 5]),
    "weights alone": ([Dense(units=2, rate_factor=0.0, bias_rate_factor=1.0)], range(4)),
}


@pytest.mark.parametrize("name", STACKS)
def test_a_number_is_fixed_or_moved(name):
    layers, expected = STACKS[name]
    conf = NetworkConf(input_shape=(2,), layers=[*layers, Output(units=2)])
    count = np.zeros((2, conf.parameter_count), int)
    for times, parts in zip(count, (fixed_parts(conf), moved_parts(conf)), strict=True):
        for part in parts:
            times[part] += 1
    np.testing.assert_array_equal(np.flatnonzero(count[0]), expected)
    assert (count.sum(0) == 1).all()


def test_all_may_be_fixed():
    layers = [FROZEN, Output(units=2, rate_factor=0.0)]
    assert moved_parts(NetworkConf(input_shape=(2,), layers=layers)) == []
