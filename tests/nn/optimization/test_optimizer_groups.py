"""Layers with their own rates, optimizers and weight decay."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError
from sparkdl.nn import (
    AdaGrad,
    Adam,
    AdamW,
    BatchNorm,
    Dense,
    Lamb,
    MaxNorm,
    Momentum,
    NetworkConf,
    Output,
    Sgd,
    StepSchedule,
    initial_slots,
    update_params,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.optimization.penalty import coefficients
from tests.nn.layer_cases import LAYERS
from tests.nn.support import label


def network(first=None, second=None, last=None, **options):
    """Returns three layers with own options; 6 + 3, 3 + 3, 6 + 2 parameters."""
    layers = [
        Dense(units=3, **first or {}),
        BatchNorm(**second or {}),
        Output(units=2, **last or {}),
    ]
    return NetworkConf(
        **{"input_shape": (2,), "layers": layers, "optimizer": Sgd(learning_rate=0.1)} | options
    )


def names_of(conf):
    return [(group.optimizer, [name for name, _ in group.layout.entries]) for group in conf.groups]


def step(conf, params, grad, slots=None, iteration=0):
    """Returns parameters and slots after one update, each by name."""
    if slots is None:
        slots = initial_slots(conf).astype(float)
    views = conf.slots_layout.views(slots) if isinstance(slots, np.ndarray) else slots
    return update_params(conf, params, grad, views, conf.rate_at(iteration, 0), iteration + 1)


def test_one_optimizer_is_one_group_and_its_slots_are_as_ever():
    conf = network({"rate_factor": 2.0}, optimizer=Adam())
    n = conf.parameter_count
    assert names_of(conf) == [(Adam(), [name for name, _ in conf.params_layout.entries])]
    assert dict(conf.slots_layout.entries) == {"mean": (n,), "square": (n,)}
    assert conf.rate_at(0, 0) == 0.001


def test_groups_are_the_longest_stretches_with_one_optimizer():
    fast = Momentum(learning_rate=0.5)
    conf = network({"bias_optimizer": fast}, {"optimizer": fast}, {"optimizer": Adam()})
    assert names_of(conf) == [
        (Sgd(learning_rate=0.1), ["dense_1/W"]),
        (fast, ["dense_1/b", "batchnorm_1/gamma", "batchnorm_1/beta"]),
        (Adam(), ["output_1/W", "output_1/b"]),
    ]
    assert dict(conf.slots_layout.entries) == {
        "dense_1/b:velocity": (9,),
        "output_1/W:mean": (8,),
        "output_1/W:square": (8,),
    }


def test_each_group_has_the_rate_of_its_schedule():
    scheduled = Sgd(learning_rate=StepSchedule(initial=1.0, gamma=0.5, step=10))
    conf = network({"optimizer": scheduled})
    np.testing.assert_allclose(conf.rate_at(10, 0), [0.5, 0.1], rtol=1e-6)


def test_slots_start_as_their_optimizer_says():
    conf = network({"optimizer": AdaGrad(initial_accumulator=0.5)}, last={"optimizer": Adam()})
    slots = conf.slots_layout.views(initial_slots(conf))
    assert {name: set(view) for name, view in slots.items()} == {
        "dense_1/W:square": {0.5},
        "output_1/W:mean": {0},
        "output_1/W:square": {0},
    }


def test_each_group_moves_as_if_it_were_alone(rng):
    conf = network(
        {"optimizer": Momentum(learning_rate=0.5)}, last={"optimizer": Lamb(learning_rate=0.2)}
    )
    params, grad = rng.normal(size=(2, conf.parameter_count))
    grad[conf.groups[1].part] = 0  # for the others this is only noise
    after, slots = step(conf, params, grad)
    for group in conf.groups:
        own, slope = params[group.part], grad[group.part]
        old = {name: np.zeros(len(own)) for name in group.optimizer.slot_names}
        rate, layout = group.optimizer.rate_at(0, 0), group.layout
        decay = np.array([0.01] * 6 + [0] * 2) if isinstance(group.optimizer, Lamb) else None
        move, new = group.optimizer.move(own, slope, old, rate, 1, layout, decay)
        np.testing.assert_allclose(after[group.part], own + move, rtol=1e-6)
        for name, key in group.slots.items():
            np.testing.assert_allclose(slots[key], new[name], rtol=1e-6)


@pytest.mark.parametrize(
    "optimizer",
    [Sgd(learning_rate=0.1), Momentum(learning_rate=0.1), Adam(learning_rate=0.1)],
    ids=str,
)
def test_factors_scale_the_rate(optimizer, rng):
    first = {"rate_factor": 0.5, "bias_rate_factor": 2.0}
    conf, plain = (
        network(first, {"rate_factor": 0}, optimizer=optimizer),
        network(optimizer=optimizer),
    )
    params, grad = rng.normal(size=(2, conf.parameter_count))
    moved = (step(network, params, grad)[0] - params for network in (conf, plain))
    ours, free = map(conf.params_layout.views, moved)
    factors = {"dense_1/W": 0.5, "dense_1/b": 2.0, "batchnorm_1/gamma": 0, "batchnorm_1/beta": 0}
    for name, view in ours.items():
        np.testing.assert_allclose(view, factors.get(name, 1) * free[name], rtol=1e-6, atol=1e-12)


def test_a_layer_whose_factor_is_zero_stays_bit_for_bit(rng):
    conf = network({"rate_factor": 0}, optimizer=AdamW(learning_rate=0.1, weight_decay=0.5), l2=0.1)
    params = rng.normal(size=conf.parameter_count).astype(np.float32)
    after, _ = step(conf, params, np.ones_like(params))
    part = conf.params_layout.split_by_layer["dense_1"]
    np.testing.assert_array_equal(after[part], params[part])
    assert (after[part.stop :] != params[part.stop :]).all()


def test_factors_of_decay_and_penalties_of_biases(rng):
    first = {"decay_factor": 0.5, "bias_l2": 0.3, "bias_l1": 0.2}
    conf = network(first, l1=0.1, l2=0.4, optimizer=AdamW(learning_rate=0.1, weight_decay=1.0))
    views = {kind: conf.params_layout.views(coefficients(conf, kind)) for kind in ("l1", "l2")}
    wanted = {"l1": (0.05, 0.2, 0.1), "l2": (0.2, 0.3, 0.4)}
    for kind, (weight, bias, last) in wanted.items():
        expected = {"dense_1/W": weight, "dense_1/b": bias, "output_1/W": last}
        for name, view in views[kind].items():
            np.testing.assert_allclose(view, expected.get(name, 0))
    conf = network({"decay_factor": 0.5}, optimizer=AdamW(learning_rate=0.1, weight_decay=1.0))
    params = rng.normal(size=conf.parameter_count)
    after = conf.params_layout.views(step(conf, params, 0 * params)[0] / params)
    expected = {"dense_1/W": 0.95, "output_1/W": 0.9}
    for name, view in after.items():
        np.testing.assert_allclose(view, expected.get(name, 1), rtol=1e-6)


@pytest.mark.slow
def test_a_replica_moves_each_group_in_place(rng):
    first = {"optimizer": Momentum(learning_rate=0.5), "bias_rate_factor": 2.0}
    conf = network(
        first, last={"optimizer": Adam(learning_rate=0.2)}, optimizer=AdaGrad(learning_rate=0.3)
    )
    replica = Replica(conf)
    params, slots = replica.params.astype(float), replica.slots.astype(float)
    slots = conf.slots_layout.views(slots)
    for t in range(3):
        replica.grad[:] = rng.normal(size=params.size)
        params, slots = step(conf, params, replica.grad.astype(float), slots, t)
        replica.apply(conf.rate_at(t, 0), t + 1)
        np.testing.assert_allclose(replica.params, params, rtol=1e-4, atol=1e-5)
    for name, view in conf.slots_layout.views(replica.slots).items():
        np.testing.assert_allclose(view, slots[name], rtol=1e-4, atol=1e-6)


def test_a_step_trains_with_groups(rng):
    conf = network(
        {"optimizer": Momentum(learning_rate=0.1)},
        last={"rate_factor": 0.5},
        optimizer=Adam(learning_rate=0.05),
    )
    features = rng.normal(size=(8, 2)).astype(np.float32)
    labels = (features[:, 0] > 0).astype(np.int32)
    batch, replica = Batch.of(features, labels), Replica(conf)
    losses = [replica.step(batch, conf.rate_at(t, 0), t + 1) for t in range(30)]
    assert losses[-1] < 0.7 * losses[0]


def test_every_layer_with_parameters_may_choose():
    learning = [layer for layer, in_shape in LAYERS if layer.param_shapes(in_shape)]
    assert learning
    assert not [layer for layer in learning if not hasattr(layer, "rate_factor")]


def test_choices_come_back_from_text():
    first = {
        "optimizer": Momentum(learning_rate=0.5),
        "bias_optimizer": Adam(),
        "constraints": ["unit_norm"],
    }
    conf = network(first, {"rate_factor": 0}, {"bias_l2": 0.1}, constraints=[MaxNorm(limit=2)])
    assert NetworkConf.from_yaml(conf.to_yaml()) == conf
    assert NetworkConf.from_json(conf.to_json()) == conf


REFUSED = [
    (lambda: Dense(units=1, rate_factor=-1), "Dense.rate_factor must be a number >= 0, got -1"),
    (lambda: Dense(units=1, rate_factor=None), "Dense.rate_factor must be a number >= 0, got None"),
    (
        lambda: BatchNorm(bias_rate_factor="2"),
        "bias_rate_factor must be a number >= 0 or None, got '2'",
    ),
    (lambda: Dense(units=1, decay_factor=-1), "Dense.decay_factor must be a number >= 0, got -1"),
    (lambda: Dense(units=1, bias_l2=-1), "Dense.bias_l2 must be a number >= 0, got -1"),
    (lambda: Dense(units=1, optimizer="sgdd"), "Dense.optimizer must be one of"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
