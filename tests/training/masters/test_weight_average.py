"""Averages of the weights, which optimizers with an ema_decay keep, under every master."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Momentum, initial_buffers, initial_params, initial_slots
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from tests.training.by_hand import Keep, crew, mean, states_of
from tests.training.master_table import (
    JOINT,
    MASTERS,
    SMALL,
    assert_close,
    by_kind,
    joint_batches,
)
from tests.training.problems import EVEN, UNEVEN, Partitions, perceptron

DECAY = 0.8
AVERAGED = perceptron(optimizer=Momentum(learning_rate=0.1, ema_decay=DECAY), l2=0.01)
WITHOUT_AVERAGES = {  # masters, and the cure
    "averaging by peers, slots anew": "give average_optimizer_state=True",
    "updates past a threshold": "give share='gradients'",
    "block momentum": "give reset_sgd_momentum_after_aggregation=False",
    "block momentum, changes of 1 bit": "give reset_sgd_momentum_after_aggregation=False",
    "local SGD after a warm start": "give average_optimizer_state=True",
    "elastic": "take AllReduceSGD",
    "elastic, half precision": "take AllReduceSGD",
    "elastic around a store": "take AllReduceSGD",
}


def average(weights):
    """Returns the mean of weights after each update, by the formula, in float64."""
    factors = DECAY ** np.arange(len(weights) - 1.0, -1, -1)
    return factors @ np.array(weights, float) / factors.sum()


def averages_of(state, conf=AVERAGED):
    return Network(conf, state).with_averaged_weights().state.params


def test_masters_that_cannot_average_weights_say_what_can(crews):
    refused = {}
    for name, row in MASTERS.items():
        try:
            row.master.check_network(AVERAGED)
        except ConfigError as error:
            refused[name] = str(error)
    assert refused.keys() == WITHOUT_AVERAGES.keys()
    for name, cure in WITHOUT_AVERAGES.items():
        kind = type(MASTERS[name].master).__name__
        start = f"Momentum.ema_decay must be None with {kind}, got 0.8; {cure}"
        assert refused[name].startswith(start)
    with pytest.raises(ConfigError, match="ema_decay must be None with ElasticAveraging"):
        Network(AVERAGED).fit(Partitions(EVEN), 1, MASTERS["elastic"].master, crews(2))


@pytest.mark.slow
@pytest.mark.parametrize("name", by_kind([one for one in JOINT if one not in WITHOUT_AVERAGES]))
def test_averaged_weights_are_those_of_one_process(name, crews):
    """Of one that keeps no average: they are the mean of its weights after each update."""
    row, workers, data = MASTERS[name], crews(2), Partitions(UNEVEN)
    master, network = replace(row.master, **row.joint), Network(AVERAGED)
    network.fit(data, 2, master, workers)
    plain = perceptron(optimizer=Momentum(learning_rate=0.1), l2=0.01)
    seeded = replace(master, seed=plain.seed)
    blocks = workers.load(data, schema_of(plain), master.records_per_block, seeded)
    replica, weights = Replica(plain), []
    replica.load(initial_params(plain), initial_buffers(plain), initial_slots(plain))
    for epoch in range(2):
        for batch in joint_batches(master, blocks, workers, plain, epoch):
            replica.step(batch, 0.1, len(weights) + 1, epoch)
            weights.append(replica.params.astype(float))
    assert network.state.iteration == len(weights)
    averaged = network.with_averaged_weights().state.params
    assert_close(averaged, average(weights))
    assert_close(network.state.params, replica.params)
    assert np.abs(averaged - replica.params).max() > 0.01, "else nothing was asked"


SERVERS = ["servers, backup", "servers, bounded", "servers, at once", "servers, without locks"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_servers_average_the_weights_that_they_have(name, crews):
    """Of one worker, whose rounds of one update show all weights that its server had."""
    options = {"updates_per_round": 1, "snapshot_every": 1, "servers": 1}
    options |= {"backup": 0} if name == "servers, backup" else {}
    network, keep = Network(AVERAGED), Keep()
    master = replace(MASTERS[name].master, **options)
    network.fit(Partitions([41]), 2, master, crews(1), listeners=[keep])
    assert [state.iteration for state in keep.states] == [*range(1, network.state.iteration + 1)]
    for number, state in enumerate(keep.states, 1):
        assert_close(averages_of(state), average([one.params for one in keep.states[:number]]))
    averaged = network.with_averaged_weights().state.params
    assert np.abs(averaged - network.state.params).max() > 0.01, "else nothing was asked"


@pytest.mark.slow
@pytest.mark.parametrize("counts", [EVEN, UNEVEN], ids=str)
def test_workers_apart_average_their_own_weights(counts, crews):
    """After each of their updates; a round ends with the mean by examples of their averages."""
    master = ParameterAveraging(averaging_frequency=2, **SMALL)
    hands, averages, updates = crew(2), np.zeros((2, crew(1)[0].params.size)), 0
    for _, chosen, state in states_of(master, crews(2), counts, conf=AVERAGED):
        for worker, batches in enumerate(chosen):
            hand, own = hands[worker], averages[worker]
            for t, batch in enumerate(batches, updates + 1):
                hand.step(batch)
                share = (1 - DECAY) / (1 - DECAY**t)
                own += share * (hand.params - own)
        counted = np.array([hand.examples for hand in hands])
        averages[:] = counted / counted.sum() @ averages
        params, slots = mean(hands)
        for hand in hands:
            hand.params, hand.slots = params, slots
        updates = state.iteration
        assert_close(state.params, params)
        assert_close(averages_of(state), averages[0])
    assert np.abs(averages[0] - params).max() > 0.01, "else nothing was asked"
