"""Constraints against optax's projections, and where in an update they hold."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import BatchNorm, Conv2D, Dense, NetworkConf, Output, Sgd, updated
from sparkdl.nn.constraints import MaxNorm, MinMaxNorm, NonNegative, UnitNorm
from tests.nn.examples import CONSTRAINTS
from tests.nn.support import label, run_as_graph

project = optax.projections


def min_max_norm(constraint, unit):
    norm = jnp.linalg.norm(unit)
    near = project.projection_l2_ball(unit, constraint.high)
    near = jnp.where(norm < constraint.low, constraint.low * unit / norm, near)
    return constraint.share * near + (1 - constraint.share) * unit


THEIRS = {
    "max_norm": lambda constraint, unit: project.projection_l2_ball(unit, constraint.limit),
    "min_max_norm": min_max_norm,
    "unit_norm": lambda constraint, unit: project.projection_l2_sphere(unit),
    "non_negative": lambda constraint, unit: project.projection_non_negative(unit),
}
# of weights with this shape, the axis along which units lie
UNITS = {(6, 4): 1, (4, 3, 2, 2): 0, (4, 3, 2): 0, (5,): None}


@pytest.mark.parametrize("shape", UNITS, ids=str)
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_weights_go_to_where_optax_projects_those_of_each_unit(constraint, shape, rng, x64):
    weights, axis = rng.normal(size=shape), UNITS[shape]
    ours = constraint.apply(weights)
    project_one = THEIRS[constraint.type_name]

    def theirs(unit):
        return project_one(constraint, unit)

    expected = theirs(weights) if axis is None else jax.vmap(theirs, axis, axis)(weights)
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)
    (graph,) = run_as_graph(lambda w: [constraint.apply(w)], weights)
    np.testing.assert_allclose(graph, ours, rtol=1e-12)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_zeros_stay_zeros_and_float32_stays_float32(constraint):
    weights = constraint.apply(np.zeros((3, 2), np.float32))
    assert weights.dtype == np.float32 and not weights.any()


def test_constraints_hold_after_an_update_where_they_are_set(rng):
    layers = [
        Conv2D(filters=3, kernel=2, constraints=[NonNegative(), UnitNorm()]),
        BatchNorm(),
        Dense(units=4, bias_constraints=["non_negative"]),
        Output(units=2, constraints=()),
    ]
    conf = NetworkConf(
        input_shape=(2, 3, 3), layers=layers, updater=Sgd(rate=0.5), constraints=[MaxNorm(limit=1)]
    )
    params, grad = rng.normal(size=(2, conf.parameter_count))
    after, _ = updated(conf, params, grad, {}, 0.5, 1)
    views = conf.params_layout.views(after)
    free = conf.params_layout.views(params - 0.5 * grad)
    expected = {
        "conv2d_1/W": UnitNorm().apply(NonNegative().apply(free["conv2d_1/W"])),
        "dense_1/W": MaxNorm(limit=1).apply(free["dense_1/W"]),
        "dense_1/b": np.maximum(free["dense_1/b"], 0),
    }
    for name, view in views.items():
        np.testing.assert_allclose(view, expected.get(name, free[name]), rtol=1e-12)


REFUSED = [
    (lambda: MaxNorm(limit=0), "MaxNorm.limit must be a number above 0, got 0"),
    (lambda: MinMaxNorm(low=-1, high=1), "MinMaxNorm.low must be a number >= 0, got -1"),
    (
        lambda: MinMaxNorm(low=2, high=1),
        "MinMaxNorm.high must be a number above 0 and not below low (2), got 1",
    ),
    (
        lambda: MinMaxNorm(low=0, high=1, share=0),
        "MinMaxNorm.share must be a number in (0, 1], got 0",
    ),
    (lambda: Dense(units=1, constraints="max_norm"), "Dense.constraints must be a sequence"),
    (lambda: Dense(units=1, constraints=["max_nor"]), "did you mean 'max_norm'?"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
