"""A state survives division and joining; each part has the slots of its sections."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sparkdl.nn import Adam, BatchNorm, Dense, Momentum, NetworkConf, Output
from sparkdl.nn.networks.stage import Stage
from sparkdl.nn.optimization.optimizer_groups import slots_layout
from sparkdl.nn.optimization.vector_part import VectorPart
from sparkdl.training.masters.divided_state import PARAMS, SLOTS, divide_state, join_state
from sparkdl.training.network import first_state

CONF = NetworkConf(  # four optimizer groups, some of which stages cut
    input_shape=(4,),
    layers=[
        Dense(units=5, optimizer=Adam()),
        Dense(units=5, bias_optimizer=Adam()),
        BatchNorm(),
        Dense(units=6),
        Output(units=3, optimizer=Momentum()),
    ],
    optimizer=Momentum(),
)


def state():
    rng, first = np.random.default_rng(0), first_state(CONF)
    draw = {name: len(getattr(first, name)) for name in ("params", "slots")}
    return replace(first, **{n: rng.normal(size=k).astype(np.float32) for n, k in draw.items()})


@pytest.mark.parametrize("edges", [(0, 5), (0, 2, 5), (0, 1, 3, 4, 5)], ids=str)
def test_shares_are_those_of_sections_and_join_again(edges):
    whole, stages = state(), [Stage(CONF, a, b) for a, b in pairwise(edges)]
    parts = [VectorPart((stage.section.part,)) for stage in stages]
    rest, share = divide_state(CONF, whole, lambda rank: parts[rank % len(parts)])
    assert len(rest.params) == len(rest.slots) == 0
    shares = [share(rank) for rank in range(2 * len(parts))]
    for own, stage in zip(shares, stages, strict=False):
        layout = slots_layout(stage.section.groups)
        expected = layout.vector(stage.section.slots_in(whole.slots))
        assert np.array_equal(own[SLOTS], expected)
        assert np.array_equal(own[PARAMS], whole.params[stage.section.part])
    joined = join_state(CONF, {"worker_states": shares, "epoch": 3}, parts)
    assert np.array_equal(joined["params"], whole.params)
    assert np.array_equal(joined["slots"], whole.slots)
    assert joined["worker_states"] == () and joined["epoch"] == 3


def test_what_else_workers_have_stays_theirs():
    whole, parts = state(), [VectorPart((slice(0, CONF.params_layout.size),))]
    _, share = divide_state(CONF, whole, lambda rank: parts[0])
    residual = np.ones(3, np.float32)
    joined = join_state(CONF, {"worker_states": [share(0) | {"residual": residual}]}, parts)
    assert [{**one} for one in joined["worker_states"]] == [{"residual": residual}]
