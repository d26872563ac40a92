"""Updating the parameters section by section gives the same result as one full update."""

import numpy as np
import pytest

from sparkdl.nn import (
    Adam,
    BatchNorm,
    ClipLayerNorm,
    ClipNorm,
    Dense,
    Lars,
    MaxNorm,
    Momentum,
    NetworkConf,
    Output,
    Sgd,
    initial_params,
    initial_slots,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.networks.section import sections
from sparkdl.nn.schedules import StepSchedule


def network(**options):
    layers = [
        Dense(units=7, activation="tanh", optimizer=options.pop("own", None)),
        BatchNorm(),
        Dense(units=6, activation="tanh", rate_factor=2.0),
        Output(units=3),
    ]
    return NetworkConf(**{"input_shape": (5,), "layers": layers, "seed": 3} | options)


NETWORKS = {
    "sgd": network(optimizer=Sgd(learning_rate=0.1), l2=0.1, l1=0.01),
    "adam": network(
        optimizer=Adam(learning_rate=StepSchedule(initial=0.1, gamma=0.5, step=2), weight_decay=0.1)
    ),
    "several optimizers": network(
        optimizer=Adam(learning_rate=0.1), own=Momentum(learning_rate=0.2)
    ),
    "averages": network(
        optimizer=Adam(learning_rate=0.1, ema_decay=0.7), own=Sgd(learning_rate=0.2, ema_decay=0.9)
    ),
    "trust": network(optimizer=Lars(learning_rate=0.1)),
    "clipped by layer": network(
        optimizer=Momentum(learning_rate=0.1), clipping=ClipLayerNorm(limit=0.1)
    ),
    "clipped": network(optimizer=Momentum(learning_rate=0.1), clipping=ClipNorm(limit=0.1)),
    "constrained": network(optimizer=Sgd(learning_rate=0.1), constraints=[MaxNorm(limit=0.5)]),
}


@pytest.mark.parametrize("most", [1, 2, 3, 9])
@pytest.mark.parametrize("name", NETWORKS)
def test_sections_move_as_the_whole(name, most):
    conf, rng = NETWORKS[name], np.random.default_rng(2)
    params, kept = initial_params(conf), initial_slots(conf)
    replica, found = Replica(conf, "reference"), sections(conf, most)
    for t in range(1, 5):
        replica.grad[:] = rng.normal(size=len(params))
        replica.apply(conf.rate_at(t - 1, 0), t)
        for section in found:
            part, slots = params[section.part], section.slots_in(kept)
            grad, rate = replica.grad[section.part], section.rate_at(t - 1, 0)
            part[...], after = section.update(part, grad, slots, rate, t)
            assert all(slot.dtype == np.float32 for slot in after.values())
            for slot, view in slots.items():
                view[...] = after[slot]
    np.testing.assert_allclose(params, replica.params, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(kept, replica.slots, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_sections_are_all_parameters_once(most):
    conf = NETWORKS["several optimizers"]
    found = sections(conf, most)
    ends = [0, *(section.part.stop for section in found)]
    assert [section.part.start for section in found] == ends[:-1]
    assert ends[-1] == conf.parameter_count and len(found) <= most
    assert len(found) == min(most, 4)


def test_a_whole_gradient_that_is_clipped_is_one_section():
    assert len(sections(NETWORKS["clipped"], 3)) == 1
