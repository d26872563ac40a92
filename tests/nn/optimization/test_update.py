"""The order of an update: clip, penalty, optimizer."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from sparkdl.nn import (
    AdamW,
    ClipNorm,
    Dense,
    Lamb,
    Lars,
    Momentum,
    NetworkConf,
    Output,
    Sgd,
    update_params,
)
from sparkdl.nn.execution.replica import Replica
from tests.nn.examples import OPTIMIZERS
from tests.nn.support import label, run_as_graph


def test_clips_then_adds_the_penalty_then_steps():
    conf = NetworkConf(
        input_shape=(1,),
        layers=[Output(units=1, loss="mse")],
        clipping=ClipNorm(limit=1.0),
        l2=0.5,
        optimizer=Momentum(learning_rate=0.1, momentum=0.5),
    )
    params, grad = np.array([2.0, 4.0]), np.array([3.0, 4.0])  # a weight and a bias; norm 5
    slots = {"velocity": np.array([1.0, 1.0])}
    after, new_slots = update_params(conf, params, grad, slots, 0.1, 1)
    velocity = [0.5 - 0.1 * (0.6 + 0.5 * 2), 0.5 - 0.1 * 0.8]
    np.testing.assert_allclose(new_slots["velocity"], velocity)
    np.testing.assert_allclose(after, [2 + velocity[0], 4 + velocity[1]])

    def graph(params, grad, velocity, rate, t):
        after, slots = update_params(conf, params, grad, {"velocity": velocity}, rate, t)
        return after, slots["velocity"]

    arrays = [params, grad, slots["velocity"], np.array(0.1), np.array(1.0)]
    results = run_as_graph(graph, *arrays)
    np.testing.assert_allclose(results[0], after, rtol=1e-12)
    np.testing.assert_allclose(results[1], new_slots["velocity"], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [{"rate_factor": 0.0}, {"bias_rate_factor": 0.0}], ids=str)
def test_norms_leave_out_what_has_no_rate(fixed, rng, x64):
    """As in Caffe, which computes no gradient where lr_mult is 0."""
    layers = [Dense(units=2, **fixed), Output(units=1, loss="mse")]
    conf = NetworkConf(
        input_shape=(3,), layers=layers, clipping=ClipNorm(limit=0.3), optimizer=Sgd()
    )
    params, grad = rng.normal(size=(2, conf.params_layout.size))
    free = np.ones(params.size, bool)
    for name, part in conf.params_layout.slices.items():
        if name.startswith("dense") and (name.endswith("/b") or "rate_factor" in fixed):
            free[part] = False
    grad[~free] = np.nan  # a norm must not count it
    clip = optax.clip_by_global_norm(0.3)
    [step], _ = clip.update([jnp.asarray(grad[free])], clip.init([jnp.asarray(grad[free])]))
    after, _ = update_params(conf, params, grad, {}, 1.0, 1)
    np.testing.assert_array_equal(after[~free], params[~free])
    np.testing.assert_allclose(after[free], params[free] - step, rtol=1e-9)


@pytest.mark.slow
def test_decoupled_decay_is_that_of_optax_and_spares_biases(rng, x64):
    optimizer = AdamW(learning_rate=0.1, weight_decay=0.3)
    conf = NetworkConf(
        input_shape=(2,), layers=[Dense(units=2), Output(units=1, loss="mse")], optimizer=optimizer
    )
    names = conf.params_layout.slices
    weights = np.concatenate(
        [np.full(part.stop - part.start, name.endswith("/W")) for name, part in names.items()]
    )
    params = rng.normal(size=conf.params_layout.size)
    slots = {name: np.zeros_like(params) for name in optimizer.slot_names}
    # one leaf per number, so that optax's mask can exclude some
    reference = optax.adamw(0.1, weight_decay=0.3, mask=[bool(w) for w in weights])
    theirs = [jnp.asarray(p) for p in params]
    state = reference.init(theirs)
    for t in range(1, 21):
        grad = rng.normal(size=params.size)
        params, slots = update_params(conf, params, grad, slots, 0.1, t)
        steps, state = reference.update([jnp.asarray(g) for g in grad], state, theirs)
        theirs = optax.apply_updates(theirs, steps)
        np.testing.assert_allclose(params, theirs, rtol=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_any_optimizer_may_decay_weights(optimizer, rng):
    layers = [Dense(units=2), Output(units=1, loss="mse")]
    plain, decayed = (replace(optimizer, weight_decay=decay) for decay in (0.0, 0.3))
    confs = [
        NetworkConf(input_shape=(2,), layers=layers, optimizer=one) for one in (plain, decayed)
    ]
    params, grad = rng.normal(size=(2, confs[0].params_layout.size))
    slots = {name: np.full_like(params, 0.5) for name in optimizer.slot_names}
    free, less = (update_params(conf, params, grad, slots, 0.1, 1)[0] for conf in confs)
    for name, part in confs[0].params_layout.slices.items():
        moved = less[part] - free[part]
        if isinstance(optimizer, Lars | Lamb):  # there decay enters the trust ratio
            assert moved.any() == name.endswith("/W")
        else:
            decay = 0.1 * 0.3 * params[part] * name.endswith("/W")
            np.testing.assert_allclose(moved, -decay, rtol=1e-6, atol=1e-12)


def many_axes(arrays):
    return {name: array.ndim > 1 for name, array in arrays.items()}


def optax_lars(optimizer):
    everything = True if optimizer.vectors else many_axes
    options = {"trust_coefficient": optimizer.trust, "eps": optimizer.epsilon, "momentum": 0.8}
    return optax.lars(
        0.1, optimizer.weight_decay, many_axes, trust_ratio_mask=everything, **options
    )


def optax_lamb(optimizer):
    measure = optax.scale_by_trust_ratio()
    return optax.chain(
        optax.scale_by_adam(eps=optimizer.epsilon),
        optax.add_decayed_weights(optimizer.weight_decay, many_axes),
        measure if optimizer.vectors else optax.masked(measure, many_axes),
        optax.scale_by_learning_rate(0.1),
    )


MEASURED = [
    (Lars(learning_rate=0.1, momentum=0.8), optax_lars),
    (Lars(learning_rate=0.1, momentum=0.8, weight_decay=0.3, trust=0.02, epsilon=0.5), optax_lars),
    (Lars(learning_rate=0.1, momentum=0.8, weight_decay=0.3, vectors=True), optax_lars),
    (Lamb(learning_rate=0.1), optax_lamb),
    (Lamb(learning_rate=0.1, weight_decay=0.5, vectors=True), optax_lamb),
]


@pytest.mark.slow
@pytest.mark.parametrize("optimizer, theirs", MEASURED, ids=label)
def test_steps_measured_by_the_arrays_are_those_of_optax(optimizer, theirs, rng, x64):
    conf = NetworkConf(
        input_shape=(2,), layers=[Dense(units=3), Output(units=1, loss="mse")], optimizer=optimizer
    )
    layout, reference = conf.params_layout, theirs(optimizer)
    params = rng.normal(size=layout.size)
    layout.views(params)["dense_1/b"][...] = 0  # a zero norm gives no trust ratio
    slots = {name: np.zeros_like(params) for name in optimizer.slot_names}
    expected = {name: jnp.asarray(array) for name, array in layout.views(params).items()}
    state = reference.init(expected)
    for t in range(1, 11):
        grad = rng.normal(size=params.size) * (t != 2)
        arrays = {name: jnp.asarray(array) for name, array in layout.views(grad).items()}
        params, slots = update_params(conf, params, grad, slots, 0.1, t)
        steps, state = reference.update(arrays, state, expected)
        expected = optax.apply_updates(expected, steps)
        for name, array in layout.views(params).items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_a_replica_updated_in_place_is_where_arrays_lead(optimizer, rng):
    conf = NetworkConf(
        input_shape=(2,), layers=[Dense(units=2), Output(units=1, loss="mse")], optimizer=optimizer
    )
    replica = Replica(conf)
    params = replica.params.astype(float)
    slots = {n: v.astype(float) for n, v in conf.slots_layout.views(replica.slots).items()}
    for t in range(1, 4):
        replica.grad[:] = rng.normal(size=params.size)
        params, slots = update_params(conf, params, replica.grad.astype(float), slots, 0.1, t)
        replica.apply(0.1, t)
        np.testing.assert_allclose(replica.params, params, rtol=1e-4, atol=1e-5)
    for name, view in conf.slots_layout.views(replica.slots).items():
        np.testing.assert_allclose(view, slots[name], rtol=1e-4, atol=1e-6)
