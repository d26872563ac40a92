"""LocalSGD matches a simulation by hand."""

import math
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np
import pytest
from pytest import approx

from sparkdl.errors import ConfigError
from sparkdl.exchange.codecs import OneBit, TopK, TwoBit
from sparkdl.nn import Sgd
from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.network import Network
from tests.nn.support import label
from tests.training.by_hand import Keep, crew, mean, states_of
from tests.training.master_table import SMALL, assert_close
from tests.training.problems import EVEN, UNEVEN, Partitions, gradient, perceptron

CASES = {
    # workers, records of partitions, options
    "two": (2, EVEN, {"period": 2, "updates_per_round": 5}),
    "three, uneven": (3, UNEVEN, {"period": 3, "updates_per_round": 3}),
    "one": (1, UNEVEN, {"period": 2, "updates_per_round": 4}),
    "some without data": (3, [2], {"period": 2, "updates_per_round": 9}),
    "slots anew": (
        2,
        UNEVEN,
        {"period": 2, "updates_per_round": 5, "average_optimizer_state": False},
    ),
    "warm start": (2, UNEVEN, {"period": 4, "updates_per_round": 4, "parallel_from": 2}),
    "adaptive": (2, UNEVEN, {"period": 6, "updates_per_round": 9, "adaptive": True}),
    "adaptive after a warm start": (
        2,
        EVEN,
        {"period": 6, "updates_per_round": 9, "adaptive": True, "parallel_from": 1},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_equals_a_simulation(name, crews):
    size, counts, options = CASES[name]
    master = LocalSGD(**options, **SMALL)
    hands, losses, periods = crew(size), [], [master.period]
    first, idle = hands[0].params, 0
    done = states_of(master, crews(size), counts, epochs=12)
    for epoch, rounds in groupby(done, key=itemgetter(0)):
        for _, shares, state in rounds:
            idle += not all(shares)
            if epoch < master.parallel_from:
                warm(hands, shares)
            else:
                alone(master, hands, shares, periods[-1])
            assert_close(state.params, hands[0].params)
            np.testing.assert_allclose(state.slots, hands[0].slots, atol=1e-5)
        if master.adaptive and epoch >= master.parallel_from:
            losses.append(sum(hand.loss for hand in hands) / sum(counts))
            periods.append(adapted(master, periods[-1], losses))
            assert state.master_state["local_sgd"].tolist() == [
                periods[-1],
                approx(losses[0]),
                0,
                0,
                master.period,
            ]
        for hand in hands:
            hand.loss = 0.0
    assert np.abs(hands[0].params - first).max() > 0.1, "else nothing was asked"
    assert (len(set(periods)) > 2) == master.adaptive
    assert idle or sum(counts) >= size


@pytest.mark.slow
@pytest.mark.parametrize("later", [{"period": 8}, {"period": 6, "adaptive": True}], ids=label)
def test_a_fit_with_other_options_begins_with_its_own_period(later, crews):
    """An earlier fit's adaptive period, here 1, is not that of the later one."""
    options = {"updates_per_round": 8, **SMALL}
    adaptive = LocalSGD(period=8, adaptive=True, plateau=0.1, **options)
    network, data = Network(perceptron()), Partitions([40, 40])
    network.fit(data, 3, adaptive, crews(2))
    assert network.state.master_state["local_sgd"][0] == 1
    found = []
    for kept in (network.state.master_state, {}):
        other = Network(network.conf, replace(network.state, master_state=kept))
        other.fit(data, 1, LocalSGD(**later, **options), crews(2))
        found.append(other.state.params)
    np.testing.assert_array_equal(*found)


KEEPING = [OneBit(chunk=64), TopK(0.1), TwoBit(threshold=0.01)]


@pytest.mark.slow
@pytest.mark.parametrize("codec", KEEPING, ids=label)
@pytest.mark.parametrize("interrupted", [False, True])
def test_what_the_warm_start_keeps_back_is_in_the_first_update_after_it(codec, interrupted, crews):
    """With plain SGD, weights plus the residuals of averaging equal an exact exchange."""
    conf = perceptron(optimizer=Sgd(learning_rate=0.1))
    options = {"period": 1, "updates_per_round": 1, "parallel_from": 1, "codec": codec}
    master, counts = LocalSGD(**options, **SMALL), [17, 12, 9]
    found = list(states_of(master, crews(3), counts, epochs=2, conf=conf))
    last = [state for epoch, _, state in found if epoch == 0][-1]
    _, shares, after = next(row for row in found if row[0] == 1)
    if interrupted:  # the switch then comes first in a new fit
        network = Network(conf, last)
        master = replace(master, seed=conf.seed, snapshot_every=1)
        keep = Keep()
        network.fit(Partitions(counts), 1, master, crews(3), listeners=[keep])
        after = keep.states[0]
    kept = sum(own["gradients.residual"].astype(float) for own in last.worker_states)
    assert np.abs(kept).max() > 0.01
    assert not any(own["gradients.residual"].any() for own in after.worker_states)
    batch = [np.concatenate(c) for c in zip(*[s[0] for s in shares if s], strict=True)]
    _, grad = gradient(conf, last.params.astype(float), *batch)
    came = after.params + sum(own["changes.residual"].astype(float) for own in after.worker_states)
    np.testing.assert_allclose(came, last.params - 0.1 * (grad + kept), atol=1e-5)


def warm(hands, shares):
    """All workers make the same updates, on joint minibatches."""
    for k in range(max(map(len, shares))):
        parts = [share[k] for share in shares if k < len(share)]
        batch = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        for hand in hands:
            hand.step(batch)
            hand.examples = 0.0


def alone(master, hands, shares, period):
    steps = max(map(len, shares))
    for k in range(steps):
        for hand, share in zip(hands, shares, strict=True):
            if k % period == 0 and not master.average_optimizer_state:
                hand.slots = 0 * hand.slots
            if k < len(share):
                hand.step(share[k])
        if (k + 1) % period == 0 or k + 1 == steps:
            params, slots = mean(hands)
            for hand in hands:
                hand.params = params
                hand.slots = slots * master.average_optimizer_state


def adapted(master, period, losses):
    target = math.ceil(master.period * math.sqrt(losses[-1] / losses[0]))
    return target if target < period else max(1, math.ceil(period / 2))


BAD = {
    "period": ({"period": 0}, "period must be an integer >= 1, got 0"),
    "round": ({"period": 9, "updates_per_round": 8}, "updates_per_round must be an integer >= 9"),
    "epoch": ({"parallel_from": -1}, "parallel_from must be an integer >= 0"),
    "flag": ({"adaptive": "loss"}, "adaptive must be True or False"),
    "plateau": ({"plateau": 1.0}, r"plateau must be a number in \(0, 1\), got 1.0"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_refuses(name):
    options, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        LocalSGD(**options)
