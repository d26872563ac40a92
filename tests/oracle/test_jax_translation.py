"""The reference backend in float64 against JAX: networks of every layer, loss and optimizer."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.nn import initial_slots, layers
from sparkdl.nn.layers import Layer
from sparkdl.nn.optimization.update import update_params
from tests.nn.examples import CLIPPINGS, CONSTRAINTS, SCHEDULES
from tests.oracle import jax_translation
from tests.oracle.jax_translation import cases, drawn, penalties, reference

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
UPDATES = 5


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def compare(conf, batch, rng, training=True):
    """Asserts that both sides compute the same results for a batch."""
    assert not jax_translation.unsupported(conf, training)
    params, buffers = (drawn.arrays(v, rng) for v in (conf.params_layout, conf.buffers_layout))
    given = conf, params, buffers, batch
    ours = reference.evaluate(*given, training)
    loss, outputs, after = jax_translation.loss_and_outputs(*given, training)
    values = jax_translation.layer_outputs(*given, training)
    hidden = values.keys() - outputs.keys()
    assert_close({n: ours.values[n] for n in hidden}, {n: values[n] for n in hidden})
    assert_close(ours.outputs, outputs)
    assert_close(ours.buffers, after)
    assert ours.loss == pytest.approx(loss, rel=1e-9)
    if training:
        assert_close(ours.grads, jax_translation.gradients(*given))


def assert_close(ours, theirs):
    """Asserts that two dicts of arrays have the same names and numbers."""
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], **CLOSE, err_msg=name)


def indices(rows, rng):
    """Draws inputs of tables, pooling, reindexing and masks, which take no normal numbers."""
    whole = {f"x{i}_0": lambda size: rng.integers(0, 4, size) for i in of_type(rows, "Embedding")}
    above = {f"x{i}_0": lambda size: rng.uniform(0.1, 1, size) for i in of_type(rows, "Stochastic")}
    index = {f"x{i}_1": lambda size: rng.integers(0, size[0], size) for i in of_type(rows, "Batch")}
    chosen = [i for i, (layer, _) in enumerate(rows) if getattr(layer, "operation", "") == "mask"]
    masks = {f"x{i}_1": lambda size: rng.integers(0, 2, size) for i in chosen}
    return whole | above | index | masks


def of_type(rows, start):
    return [i for i, (layer, _) in enumerate(rows) if layer.type_name.startswith(start)]


@pytest.mark.slow
@pytest.mark.parametrize("family", cases.FAMILY_ROWS)
def test_every_layer_while_training(family, rng):
    rows = cases.FAMILY_ROWS[family]
    conf = cases.branches(rows)
    compare(conf, drawn.columns(conf, rng, inputs=indices(rows, rng)), rng)


@pytest.mark.slow
def test_layers_that_do_something_else_in_use(rng):
    rows = cases.rows_in_use()
    conf = cases.branches(rows)
    assert jax_translation.unsupported(conf)
    compare(conf, drawn.columns(conf, rng, inputs=indices(rows, rng)), rng, training=False)


@pytest.mark.slow
def test_layers_that_change_the_batch_and_shared_weights(rng):
    conf = cases.batchwise()
    order = {"order": lambda size: np.array([[2], [0], [2]])}
    compare(conf, drawn.columns(conf, rng, inputs=order), rng)


def lengths(*found):
    """Returns the mask of sequences with these lengths."""
    return (np.arange(cases.STEPS) < np.array(found)[:, None]).astype(float)


@pytest.mark.slow
def test_masked_sequences(rng):
    conf = cases.masked(cases.OVER_STEPS)
    compare(conf, drawn.columns(conf, rng) | {"mask": lengths(6, 4, 1)}, rng)


@pytest.mark.slow
def test_sequences_without_a_step(rng):
    conf = cases.masked(cases.WITHOUT_STEPS)
    compare(conf, drawn.columns(conf, rng) | {"mask": lengths(0, 4, 6)}, rng)


@pytest.mark.slow
def test_masks_that_layers_make(rng):
    conf = cases.masks_made()
    index = {"features": lambda size: np.array([[1, 2, 3, 1, 2, 3], [3, 1, 2, 0, 0, 0], [1] * 6])}
    compare(conf, drawn.columns(conf, rng, inputs=index), rng)


@pytest.mark.slow
@pytest.mark.parametrize("mask", [{}, {"mask": lengths(6, 4, 1)}], ids=["words", "sentences too"])
def test_masks_that_layers_make_within_each_step(mask, rng):
    conf = cases.masks_within()
    words = np.sort(rng.integers(0, 3, (3, cases.STEPS, 3)))[..., ::-1]
    words[1, 2:4] = 0
    compare(conf, drawn.columns(conf, rng, inputs={"features": lambda size: words}) | mask, rng)


@pytest.mark.slow
def test_losses_of_rows(rng):
    conf = cases.scored((3,), cases.OF_ROWS)
    compare(conf, drawn.columns(conf, rng, 4) | {"weights": np.array([1, 0.5, 0, 2])}, rng)


@pytest.mark.slow
def test_losses_of_steps(rng):
    conf = cases.scored((cases.STEPS, 3), cases.OF_PLACES)
    labels_mask = {"loss0_mask": rng.integers(0, 2, (3, cases.STEPS)).astype(float)}
    batch = drawn.columns(conf, rng) | {"mask": lengths(6, 3, 2)} | labels_mask
    compare(conf, batch, rng)


@pytest.mark.slow
def test_losses_of_places(rng):
    conf = cases.scored((2, 2, 3), cases.OF_PLACES)
    compare(conf, drawn.columns(conf, rng), rng)


@pytest.mark.slow
def test_losses_of_whole_sequences(rng):
    conf = cases.scored((cases.STEPS, 3), cases.OF_SEQUENCES)
    compare(conf, drawn.columns(conf, rng) | {"mask": lengths(6, 5, 5)}, rng)


@pytest.mark.slow
def test_activations(rng):
    conf = cases.activated()
    compare(conf, drawn.columns(conf, rng), rng)


def batches(conf, rng):
    return [drawn.columns(conf, rng) for _ in range(UPDATES)]


@pytest.mark.slow
@pytest.mark.parametrize("conf", [cases.trained(), cases.small_images()], ids=["all", "images"])
def test_parameters_after_five_updates(conf, rng):
    params, buffers = (drawn.arrays(v, rng) for v in (conf.params_layout, conf.buffers_layout))
    given = conf, params, buffers, batches(conf, rng)
    ours, theirs = reference.train(*given), jax_translation.train(*given)
    assert_close(ours[0], theirs[0])
    assert_close(ours[1], theirs[1])
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-9)


def updates(conf, rng):
    """Returns parameters after five updates with random gradients, ours and theirs."""
    params = drawn.arrays(conf.params_layout, rng)
    slots, theirs = jax_translation.first_slots(conf), params
    vector = conf.params_layout.vector(params, np.float64)
    own = conf.slots_layout.views(initial_slots(conf).astype(float))
    for t in range(UPDATES):
        grads = drawn.arrays(conf.params_layout, rng)
        grad = conf.params_layout.vector(grads, np.float64)
        vector, own = update_params(conf, vector, grad, own, conf.rate_at(t, t // 2), t + 1.0)
        theirs = jax_translation.updated(conf, theirs, slots, grads, t, t // 2)
    return conf.params_layout.views(vector), theirs


@pytest.mark.parametrize("clipping", CLIPPINGS, ids=str)
def test_clipping(clipping, rng):
    assert_close(*updates(replace(cases.small_images(), clipping=clipping), rng))


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_constraints(constraint, rng):
    kinds = [(layers.LSTM(units=2), (3, 2)), (layers.Embedding(vocabulary_size=3, units=2), (1,))]
    kinds.append((layers.Conv2DTranspose(filters=4, kernel_size=2, groups=2), (4, 3, 3)))
    kinds.append((layers.LocallyConnected2D(filters=3, kernel_size=2), (2, 3, 3)))
    graph = replace(cases.branches(kinds), constraints=[constraint])
    images = replace(cases.small_images(), constraints=[constraint])
    for conf in (graph, images):
        assert_close(*updates(conf, rng))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_schedules(schedule, rng):
    conf = cases.small_images()
    assert_close(
        *updates(replace(conf, optimizer=replace(conf.optimizer, learning_rate=schedule)), rng)
    )


def test_the_penalty_has_the_gradient_that_updates_see(rng):
    """Uses central differences, as no program of the package contains the penalty."""
    conf = cases.trained()
    params = drawn.arrays(conf.params_layout, rng)
    for key, layer, name in penalties.parameters(conf):
        step = rng.normal(size=params[key].shape) * 1e-6
        ends = [
            jax_translation.penalty(conf, params | {key: params[key] + sign * step})
            for sign in (1, -1)
        ]
        slope = penalties.penalty_gradient(layer, name, params[key])
        assert (ends[0] - ends[1]) / 2 == pytest.approx((slope * step).sum(), rel=1e-3, abs=1e-12)


def test_at_least_forty_kinds_of_layers_are_compared():
    """Every layer by name, except one for pretraining only and three of Caffe's."""
    known = {n for n, c in Layer.members.items() if c.__module__.startswith("sparkdl.")}
    rows = [row for family in cases.FAMILY_ROWS.values() for row in family] + cases.rows_in_use()
    confs = [cases.batchwise(), cases.masks_made(), cases.branches(rows)]
    compared = {place.layer.type_name for conf in confs for place in conf.stack}
    assert len(compared) >= 40
    assert compared == jax_translation.supported_layers() & known
    assert known - compared == {"Reconstruction", "ArgMax", "MaxPoolIndex2D", "GainComparison"}
