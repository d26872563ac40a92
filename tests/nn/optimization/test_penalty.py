"""l1 and l2: which parameters they apply to, and how strongly."""

import numpy as np

from sparkdl.nn import Affine, BatchNorm, Dense, Frozen, Learned, NetworkConf, Output, PRelu
from sparkdl.nn.optimization.penalty import add_penalty, coefficients, penalty
from tests.nn.example_networks import mixed
from tests.nn.support import value_and_gradients


def network(**options):
    layers = [Dense(units=3, l1=0.2), BatchNorm(), Dense(units=2, l2=0), Output(units=2)]
    return NetworkConf(input_shape=(4,), layers=layers, **options)


def test_the_network_s_factor_holds_where_a_layer_gives_none():
    conf = network(l1=0.1, l2=0.5)
    for kind, first, second, last in [("l1", 0.2, 0.1, 0.1), ("l2", 0.5, 0, 0.5)]:
        views = conf.params_layout.views(coefficients(conf, kind))
        wanted = {"dense_1/W": first, "dense_2/W": second, "output_1/W": last}
        for name, view in views.items():
            np.testing.assert_array_equal(view, np.float32(wanted.get(name, 0)))


def test_nothing_is_added_without_factors(rng):
    conf = NetworkConf(input_shape=(4,), layers=[Output(units=2)])
    params, grad = rng.normal(size=(2, conf.parameter_count))
    assert coefficients(conf, "l1") is None and coefficients(conf, "l2") is None
    assert penalty(conf, params) == 0
    assert add_penalty(conf, grad, params) is grad


def test_the_penalty_worked_out_by_hand():
    conf = NetworkConf(input_shape=(2,), layers=[Output(units=1, loss="mse")], l1=0.1, l2=0.5)
    params = np.array([3.0, -2.0, 7.0])  # two weights and a bias
    np.testing.assert_allclose(penalty(conf, params), 0.1 * 5 + 0.25 * 13)
    grad = add_penalty(conf, np.zeros(3), params)
    np.testing.assert_allclose(grad, [0.1 + 1.5, -0.1 - 1.0, 0], rtol=1e-6)


def test_the_gradient_added_is_that_of_the_penalty(rng):
    conf = mixed(l1=0.03)
    params = rng.normal(size=conf.parameter_count)
    _, (grad,) = value_and_gradients(lambda p: penalty(conf, p), params)
    np.testing.assert_allclose(add_penalty(conf, 0 * params, params), grad, rtol=1e-12)
    assert np.count_nonzero(grad) < len(grad)


def test_learned_factors_are_pulled_where_their_layers_say():
    own = Affine(l2=0.3, bias_l1=0.4, decay_factor=0.5)
    table = Learned(shape=(2,), l1=0.5, l2=0.25, decay_factor=3, name="table")
    layers = [Affine(), own, PRelu(l1=0.6), Frozen(layer=own), table, Output(units=1, loss="mse")]
    conf = NetworkConf(input_shape=(2,), layers=layers, l1=0.1, l2=0.5)
    wanted = {
        "l1": {"affine_2/beta": 0.4, "prelu_1/alpha": 0.6, "table/W": 1.5, "output_1/W": 0.1},
        "l2": {"affine_2/gamma": 0.15, "table/W": 0.75, "output_1/W": 0.5},
    }
    for kind, factors in wanted.items():
        for name, view in conf.params_layout.views(coefficients(conf, kind)).items():
            np.testing.assert_array_equal(view, np.float32(factors.get(name, 0)))
