"""Initial values of a network's vectors."""

import numpy as np
import pytest

from sparkdl.errors import ShapeError
from sparkdl.nn import (
    AdaGrad,
    Adam,
    Dense,
    NetworkConf,
    Output,
    Sgd,
    initial_buffers,
    initial_params,
    initial_slots,
)
from tests.nn.example_networks import lenet, mixed


def network(first=8, second=6, **options):
    layers = [Dense(units=first), Dense(units=second), Output(units=4)]
    return NetworkConf(input_shape=(5,), layers=layers, **options)


def views(conf):
    return conf.params_layout.views(initial_params(conf))


def test_the_same_seed_gives_the_same_parameters():
    np.testing.assert_array_equal(initial_params(lenet()), initial_params(lenet()))
    assert initial_params(lenet()).dtype == np.float32
    assert not np.array_equal(initial_params(lenet(seed=1)), initial_params(lenet(seed=2)))


def test_a_layer_s_values_do_not_depend_on_the_sizes_of_others():
    wide, narrow = views(network(first=8)), views(network(first=3))
    assert wide["dense_2/W"].shape != narrow["dense_2/W"].shape
    np.testing.assert_array_equal(wide["output_1/W"], narrow["output_1/W"])


def test_layers_of_one_shape_get_different_values():
    layers = [Dense(units=5), Dense(units=5), Output(units=5)]
    conf = NetworkConf(input_shape=(5,), layers=layers)
    w1, w2, w3 = (views(conf)[f"{name}/W"] for name in ("dense_1", "dense_2", "output_1"))
    assert not np.array_equal(w1, w2) and not np.array_equal(w2, w3)


def test_initializers_of_layer_and_network():
    layers = [Dense(units=3, initializer="ones", bias_initializer={"type": "constant", "value": 2})]
    conf = NetworkConf(input_shape=(2,), layers=[*layers, Output(units=2)], initializer="zeros")
    assert {name: set(v.ravel()) for name, v in views(conf).items()} == {
        "dense_1/W": {1},
        "dense_1/b": {2},
        "output_1/W": {0},
        "output_1/b": {0},
    }


def test_xavier_unless_told_otherwise():
    weights = views(lenet())["dense_1/W"]
    assert weights.std() == pytest.approx((2 / 1300) ** 0.5, rel=0.01)


def test_buffers_start_as_the_identity():
    buffers = initial_buffers(mixed())
    assert buffers.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert initial_buffers(lenet()).shape == (0,)


def test_slots_follow_the_optimizer():
    assert initial_slots(network(optimizer=Sgd())).shape == (0,)
    n = network().parameter_count
    adam = initial_slots(network(optimizer=Adam()))
    assert adam.dtype == np.float32 and adam.tolist() == [0] * 2 * n
    slots = initial_slots(network(optimizer=AdaGrad(initial_accumulator=0.5)))
    assert slots.tolist() == [0.5] * n
    layout = network(optimizer=Adam()).slots_layout
    assert dict(layout.entries) == {"mean": (n,), "square": (n,)}


def test_an_initializer_that_does_not_fit_is_told_with_the_parameter():
    conf = NetworkConf(input_shape=(4,), layers=[Output(units=3, bias_initializer="identity")])
    with pytest.raises(ShapeError, match=r"output_1/b cannot be initialized: identity needs .*3,"):
        initial_params(conf)
