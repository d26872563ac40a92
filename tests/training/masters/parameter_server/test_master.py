"""The contract of ParameterServer alone; that of all masters is in test_base.py."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data.batches.blocks import permutation
from sparkdl.errors import ConfigError
from sparkdl.nn import LossLayer, Momentum, NetworkConf, Sgd, initial_slots
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from tests.training.master_table import SMALL, assert_close, plan_of
from tests.training.models import assert_equal
from tests.training.problems import EVEN, UNEVEN, Partitions, perceptron, whole_net

CONF = perceptron(optimizer=Momentum(learning_rate=0.1))


def fit(workers, data, conf=CONF, epochs=2, **options):
    network = Network(conf)
    master = ParameterServer(**SMALL | {"updates_per_round": 3} | options)
    history = network.fit(data, epochs, master, workers)
    return network.state, history


def rounds_by_hand(conf, workers, data, epochs, **options):
    """Yields [minibatches of a round] for a single worker."""
    master = ParameterServer(**SMALL | {"updates_per_round": 3, "seed": conf.seed} | options)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, master)
    for epoch in range(epochs):
        for [number] in plan_of(master, blocks, workers, conf, epoch):
            block = blocks.blocks[number]
            order = permutation(conf.seed, epoch, number, n=len(block))
            size = master.batch_size_per_worker
            yield [block.take(order[i : i + size]) for i in range(0, len(block), size)]


class Server:
    """The server's SGD and one worker's copy, by hand; a worker's own updates are not stale."""

    def __init__(self, conf):
        self.replica, self.waiting = Replica(conf), []
        self.rate, self.params = conf.optimizer.learning_rate, self.replica.params.copy()

    def gradient(self, batch):
        self.replica.gradient(batch)
        self.waiting.append((len(batch), self.replica.grad.astype(float)))

    def push(self):
        if self.waiting:
            examples = sum(n for n, _ in self.waiting)
            mean = sum(n * grad for n, grad in self.waiting) / examples
            self.params -= self.rate * len(self.waiting) * mean
            self.waiting = []

    def pull(self):
        self.replica.params[:] = self.params

    def worker_state(self):
        self.replica.params -= np.float32(self.rate) * self.replica.grad


DOWNPOUR = {
    "each minibatch": {},
    "sums": {"push_every": 2, "fetch_every": 2},
    "rare pulls": {"mode": "async", "fetch_every": 3, "scale_by_staleness": False},
    "rare pulls, scaled": {"mode": "async", "fetch_every": 3},
    "rare pushes": {"mode": "hogwild", "push_every": 3},
    "both": {"mode": "bounded", "push_every": 2, "fetch_every": 5, "staleness": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DOWNPOUR)
def test_one_worker_does_what_is_done_by_hand(name, crews):
    options, workers, data = DOWNPOUR[name], crews(1), Partitions(UNEVEN)
    conf = perceptron(optimizer=Sgd(learning_rate=0.3))
    state, _ = fit(workers, data, conf, **options)
    server, pushes, pulls = Server(conf), *map(options.get, ("push_every", "fetch_every"))
    for batches in rounds_by_hand(conf, workers, data, 2, **options):
        for number, batch in enumerate(batches, 1):
            server.gradient(batch)
            if number % (pushes or 1) == 0:
                server.push()
            if number % (pulls or 1) == 0:
                server.pull()
            else:
                server.worker_state()
        server.push()
        server.pull()
    assert_close(state.params, server.params)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 2])
def test_who_keeps_the_parameters_changes_nothing(servers, crews):
    conf = whole_net(optimizer=Momentum(learning_rate=0.1))
    expected, _ = fit(crews(3), Partitions(UNEVEN), conf)
    assert_equal(fit(crews(3), Partitions(UNEVEN), conf, servers=servers)[0], expected)


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["Half", "OneBit"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_coded_gradients_train_in_fewer_bytes(codec, mode, crews):
    conf = perceptron(optimizer=Sgd(learning_rate=0.1))
    _, plain = fit(crews(2), Partitions(EVEN), conf, epochs=8, mode=mode)
    _, coded = fit(crews(2), Partitions(EVEN), conf, epochs=8, mode=mode, codec=codec)
    assert coded.epochs[-1].loss < coded.epochs[0].loss
    sent = [sum(report.bytes_sent for report in history.rounds) for history in (plain, coded)]
    assert 0 < sent[1] < sent[0]


@pytest.mark.slow
@pytest.mark.parametrize("backup", [0, 1, 2])
def test_gradients_that_come_too_late_are_counted(backup, crews):
    data, options = Partitions(UNEVEN), {"servers": 1, "backup": backup, "updates_per_round": 5}
    state, history = fit(crews(3), data, epochs=4, **options)
    blocks = crews(3).load(data, schema_of(CONF), 20, ParameterServer(seed=CONF.seed, **SMALL))
    minibatches = 4 * sum(-(-size // 4) for size in blocks.sizes)
    dropped = sum(report.dropped for report in history.rounds)
    assert 0 < state.iteration <= minibatches - dropped
    assert dropped == 0 or backup
    assert [epoch.examples for epoch in history.epochs] == [sum(UNEVEN)] * 4


@pytest.mark.slow
def test_slots_are_those_of_the_servers(crews):
    conf = perceptron(optimizer=Momentum(learning_rate=0.1))
    state, _ = fit(crews(2), Partitions(EVEN), conf, push_every=2, fetch_every=2)
    assert state.slots.shape == initial_slots(conf).shape and np.abs(state.slots).max() > 0


def test_there_must_be_a_worker_that_is_waited_for(crews):
    with pytest.raises(ConfigError, match="ParameterServer.backup must be below 2, the number"):
        fit(crews(2), Partitions(EVEN), backup=2)


def test_a_network_without_parameters_is_refused(crews):
    conf = NetworkConf(input_shape=(4,), layers=[LossLayer()])
    with pytest.raises(ConfigError, match="needs a NetworkConf with parameters, .*; take AllRed"):
        fit(crews(2), Partitions(EVEN), conf)


REFUSED = [
    ({"mode": "fast"}, "ParameterServer.mode must be 'sync'"),
    ({"backup": -1}, "ParameterServer.backup must be an integer >= 0"),
    ({"backup": 1, "mode": "async"}, "ParameterServer.backup must be 0 in mode 'async', got 1"),
    ({"staleness": 2}, "ParameterServer.staleness must be 0 in mode 'sync', got 2; it belongs to"),
    ({"scale_by_staleness": 1}, "ParameterServer.scale_by_staleness must be True or False"),
    ({"push_every": 0}, "ParameterServer.push_every must be an integer >= 1"),
    ({"fetch_every": 1.5}, "ParameterServer.fetch_every must be an integer >= 1"),
    ({"updates_per_round": 0}, "ParameterServer.updates_per_round must be an integer >= 1"),
    ({"servers": 0}, "ParameterServer.servers must be an integer >= 1 or None"),
    ({"codec": "Zip"}, "Zip"),
]


@pytest.mark.parametrize("options, message", REFUSED)
def test_options_that_cannot_work_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        ParameterServer(**options)


def test_options_come_back_from_json():
    master = ParameterServer(mode="bounded", staleness=3, codec="OneBit")
    assert ParameterServer(**master.to_dict()) == master == replace(master)
