"""Costs per layer, with a clock that ticks once a call: every call and byte is counted."""

from itertools import count

import pytest

from sparkdl.nn.execution.layer_costs import layer_costs
from sparkdl.nn.execution.replica import Replica
from tests.nn.example_networks import lenet


@pytest.fixture(scope="module")
def replica():
    return Replica(lenet())


@pytest.fixture
def costs(replica, monkeypatch):
    ticks = count()
    monkeypatch.setattr("sparkdl.engine.program.perf_counter", lambda: next(ticks))
    return {cost.name: cost for cost in layer_costs(replica, 4, repeats=1)}


def test_each_call_belongs_to_one_row(costs, replica):
    gradient, update = replica.programs(4)
    names = [place.name for place in replica.conf.stack]
    assert list(costs) == [*names, "loss", "update"]
    assert sum(one.forward + one.backward for one in costs.values()) == len(
        gradient.steps + update.steps
    )
    assert costs["update"].forward == len(update.steps)
    assert sum(one.flops for one in costs.values()) == gradient.graph.flops
    taken = sum(step.bytes for step in [*gradient.steps, *update.steps])
    assert sum(one.bytes for one in costs.values()) == taken


def test_rows_name_operations_and_kernels_of_their_layer(costs, replica):
    """conv2d_1 needs no input gradient: two passes, against conv2d_2's three."""
    first, second = 2 * 4 * 25 * 20 * 24 * 24, 2 * 4 * 25 * 20 * 50 * 8 * 8
    assert (costs["conv2d_1"].flops, costs["conv2d_2"].flops) == (2 * first, 3 * second)
    kernels = {step.kernel for step in replica.programs(4)[0].steps if step.scope == "conv2d_2"}
    assert set(costs["conv2d_2"].kernels.split(", ")) == kernels
