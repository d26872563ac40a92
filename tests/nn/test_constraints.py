"""Constraints against optax's projections, and their place in an update."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError
from sparkdl.nn import BatchNorm, Conv2D, Dense, NetworkConf, Output, Sgd, layers, update_params
from sparkdl.nn.constraints import MaxNorm, MinMaxNorm, NonNegative, UnitNorm
from sparkdl.nn.layers.core.run import Run
from tests.nn.examples import CONSTRAINTS
from tests.nn.support import label, run_as_graph, value_and_gradients

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
# {shape of weights: axis of units}
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
        Conv2D(filters=3, kernel_size=2, constraints=[NonNegative(), UnitNorm()]),
        BatchNorm(),
        Dense(units=4, bias_constraints=["non_negative"]),
        Output(units=2, constraints=()),
    ]
    conf = NetworkConf(
        input_shape=(2, 3, 3),
        layers=layers,
        optimizer=Sgd(learning_rate=0.5),
        constraints=[MaxNorm(limit=1)],
    )
    params, grad = rng.normal(size=(2, conf.parameter_count))
    after, _ = update_params(conf, params, grad, {}, 0.5, 1)
    views = conf.params_layout.views(after)
    free = conf.params_layout.views(params - 0.5 * grad)
    expected = {
        "conv2d_1/W": UnitNorm().apply(NonNegative().apply(free["conv2d_1/W"])),
        "dense_1/W": MaxNorm(limit=1).apply(free["dense_1/W"]),
        "dense_1/b": np.maximum(free["dense_1/b"], 0),
    }
    for name, view in views.items():
        np.testing.assert_allclose(view, expected.get(name, free[name]), rtol=1e-12)


# layer, shape of its input, and the axes of its output that index units
UNITS_OF_LAYERS = [
    (layers.Dense(units=3), (4,), (0,)),
    (layers.DenseTranspose(units=3), (4,), (0,)),
    (layers.Conv2D(filters=4, kernel_size=2, groups=2), (2, 3, 3), (0,)),
    (layers.DepthwiseConv2D(kernel_size=2, multiplier=2), (2, 3, 3), (0,)),
    (layers.Conv1DTranspose(filters=3, kernel_size=2), (4, 2), (1,)),
    (layers.Conv2DTranspose(filters=3, kernel_size=2), (2, 3, 3), (0,)),
    (layers.Conv2DTranspose(filters=4, kernel_size=(3, 2), groups=2), (6, 3, 2), (0,)),
    (layers.Conv3DTranspose(filters=3, kernel_size=2), (2, 2, 2, 2), (0,)),
    (layers.LocallyConnected1D(filters=3, kernel_size=2), (4, 2), (0, 1)),
    (layers.LocallyConnected2D(filters=3, kernel_size=2), (2, 3, 3), (0, 1, 2)),
    (
        layers.TimeDistributed(layer=layers.Conv2DTranspose(filters=3, kernel_size=2)),
        (2, 2, 3, 3),
        (1,),
    ),
]


def weights_into_units(layer, in_shape, axes, params, rng):
    """Yields, for each unit, a mask of the weights in W that its outputs depend on."""
    x, shape = rng.uniform(0.5, 1.5, size=(1, *in_shape)), layer.out_shape(in_shape)
    for unit in np.ndindex(*(shape[axis] for axis in axes)):
        where = dict(zip(axes, unit, strict=True))
        picked = np.zeros((1, *shape))
        picked[(0, *(where.get(axis, slice(None)) for axis in range(len(shape))))] = 1

        def total(w, picked=picked):
            y = layer.forward(params | {"W": w}, x, Run(training=True, seed=1))
            return ops.sum(ops.mul(y, picked))

        yield value_and_gradients(total, params["W"])[1][0] != 0


@pytest.mark.parametrize("layer, in_shape, axes", UNITS_OF_LAYERS, ids=label)
def test_norms_are_those_of_the_weights_that_a_unit_depends_on(layer, in_shape, axes, rng):
    stack = [replace(layer, name="it"), Output(units=1, loss="mse", constraints=())]
    conf = NetworkConf(input_shape=in_shape, layers=stack, constraints=[UnitNorm()])
    params = rng.normal(size=conf.parameter_count)
    after, _ = update_params(conf, params, 0 * params, {}, 0.5, 1)
    views = {n.removeprefix("it/"): v for n, v in conf.params_layout.views(after).items()}
    into = list(weights_into_units(layer, in_shape, axes, views, rng))
    np.testing.assert_array_equal(np.sum(into, axis=0), 1)
    np.testing.assert_allclose([np.linalg.norm(views["W"][mask]) for mask in into], 1, rtol=1e-9)


def test_biases_have_one_norm_whatever_their_axes(rng):
    options = {"name": "it", "filters": 3, "kernel_size": 2, "bias_constraints": [UnitNorm()]}
    kinds = {layers.LocallyConnected1D: (4, 2), layers.LocallyConnected2D: (2, 3, 3)}
    for kind, shape in kinds.items():
        conf = NetworkConf(input_shape=shape, layers=[kind(**options), Output(units=1, loss="mse")])
        params = rng.normal(size=conf.parameter_count)
        after, _ = update_params(conf, params, 0 * params, {}, 0.5, 1)
        assert np.linalg.norm(conf.params_layout.views(after)["it/b"]) == pytest.approx(1)


def test_a_layer_s_own_constraints_hold_for_its_factors_and_the_network_s_do_not(rng):
    options = {"constraints": [NonNegative()]}
    free = [layers.PRelu(), layers.Affine(), BatchNorm(), layers.Learned(shape=(3,))]
    held = [replace(layer, **options) for layer in free]
    still = [layers.Frozen(layer=layer) for layer in held]
    fixed = [layers.Dense(units=3, rate_factor=0), *(replace(one, rate_factor=0) for one in held)]
    for stack, moves in [(free, False), (held, True), (still, False), (fixed, False)]:
        conf = NetworkConf(
            input_shape=(3,), layers=[*stack, Output(units=1, loss="mse")], **options
        )
        params = -np.abs(rng.normal(size=conf.parameter_count))
        after, _ = update_params(conf, params, 0 * params, {}, 0.5, 1)
        before = conf.params_layout.views(params)
        for name, view in conf.params_layout.views(after).items():
            factor = name.endswith(("alpha", "gamma")) or name == "learned_1/W"
            expected = 0 * view if name == "output_1/W" or (factor and moves) else before[name]
            np.testing.assert_array_equal(view, expected, err_msg=name)


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
