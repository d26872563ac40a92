"""The contract of every TrainingMaster, on processes of this machine. See master_table.py."""

import json
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest

from sparkdl.errors import DivergedError
from sparkdl.nn import (
    Adam,
    Momentum,
    Output,
    initial_buffers,
    initial_params,
    initial_slots,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters import registry
from sparkdl.training.network import Network
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.training.master_table import (
    JOINT,
    MASTERS,
    assert_close,
    by_kind,
    joint_batches,
)
from tests.training.models import assert_equal
from tests.training.problems import (
    EVEN,
    UNEVEN,
    Partitions,
    perceptron,
    softmax_net,
    whole_net,
)
from tests.training.rounds.test_block_training import data as sequences
from tests.training.rounds.test_block_training import network as recurrent

CONF = whole_net(optimizer=Adam(learning_rate=0.01))
TLS = {"certificate": "c.pem", "key": "k.pem", "authorities": "a.pem"}
DIVERGING = [name for name, row in MASTERS.items() if row.diverges]
IN_STEP = [name for name, row in MASTERS.items() if row.master.resident and row.same_bits]


@pytest.fixture(params=by_kind(MASTERS))
def name(request):
    return request.param


@pytest.fixture
def row(name):
    return MASTERS[name]


def fit(row, workers, data=None, conf=CONF, epochs=2, **options):
    network = Network(conf)
    data = Partitions(UNEVEN) if data is None else data
    history = network.fit(data, epochs, options.pop("master", row.master), workers, **options)
    return network, history


VALIDATION = Partitions([300, 0, 7], seed=9)
EPOCHS = 2  # in a usual fit


@dataclass
class Keep(Listener):
    """Keeps the states after all epochs."""

    states: list = field(default_factory=list)

    def on_epoch(self, report, state):
        self.states.append(state)


@pytest.fixture(scope="module")
def usual(crews):
    """Returns `fitted(name, workers)`: (network, history, states after epochs) of a validated fit.

    Each is fitted on first use and cached; further options of the master make another fit.
    """

    @cache
    def fitted(name, size, number=1, **options):
        row, keep = MASTERS[name], Keep()
        master = replace(row.master, **options)
        given = {"validation": VALIDATION, "listeners": [keep]}
        return *fit(row, crews(size), epochs=EPOCHS, master=master, **given), keep.states

    return fitted


@pytest.fixture
def again(row, name, usual):
    """A second usual fit of three workers, without shared memory."""
    return usual(name, 3, number=2, **without_memory(row))


def without_memory(row):
    return {"shared_memory": False} if row.master.resident else {}


@cache
def kept_replica(conf):
    """A replica that is compiled once for all tests."""
    return Replica(conf)


def new_replica(conf):
    """Returns a replica before its first step."""
    replica = kept_replica(conf)
    replica.load(initial_params(conf), initial_buffers(conf), initial_slots(conf))
    return replica


def test_every_master_has_a_row_and_a_name():
    assert {type(row.master).__name__ for row in MASTERS.values()} == set(registry.MASTERS)


@pytest.mark.parametrize("row", MASTERS.values(), ids=MASTERS)
def test_options_are_json_and_give_the_master_back(row):
    options = json.loads(json.dumps(row.master.to_dict()))
    assert type(row.master)(**options) == row.master


@pytest.mark.slow
@pytest.mark.parametrize("size, counts", [(1, EVEN), (2, UNEVEN), (3, UNEVEN)])
@pytest.mark.parametrize("name", by_kind(JOINT))
def test_updates_are_those_of_one_process_with_the_joint_batch(name, size, counts, crews):
    row, workers, data = MASTERS[name], crews(size), Partitions(counts)
    master = replace(row.master, **row.joint)
    conf = perceptron(optimizer=row.optimizer, l2=0.01)
    network, history = fit(row, workers, data, conf, epochs=3, master=master)
    seeded = replace(master, seed=conf.seed)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, seeded)
    replica, updates = new_replica(conf), 0
    for epoch in range(3):
        losses = 0.0
        for batch in joint_batches(master, blocks, workers, conf, epoch):
            rate = conf.rate_at(updates, epoch)
            updates += 1
            losses += replica.step(batch, rate, updates, epoch)
        assert history.epochs[epoch].loss == pytest.approx(losses / sum(counts), rel=1e-5)
    assert network.state.iteration == updates
    assert_close(network.state.params, replica.params)
    if len(replica.slots):
        assert_close(network.state.slots, replica.slots)
    assert np.abs(replica.params - initial_params(conf)).max() > 0.1, "else nothing was asked"


def assert_all_trained(network, history, counts):
    assert [epoch.examples for epoch in history.epochs] == [sum(counts)] * EPOCHS
    rounds = [report.rounds_in_epoch for report in history.rounds]
    assert rounds == [rounds[0]] * EPOCHS * rounds[0]
    assert network.state.epoch == EPOCHS and network.state.round == 0
    assert network.state.rounds == len(history.rounds)
    assert network.state.iteration == history.rounds[-1].iteration > 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
def test_all_records_are_trained_in_each_epoch(name, size, usual):
    network, history, _ = usual(name, size)
    assert_all_trained(network, history, UNEVEN)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[1], [2, 0]], ids=str)
def test_fewer_records_than_there_are_workers_are_trained(row, counts, crews):
    for size in (2, 3):
        network, history = fit(row, crews(size), Partitions(counts), epochs=EPOCHS)
        assert_all_trained(network, history, counts)


@pytest.mark.slow
def test_training_lowers_the_loss(row, crews):
    conf = perceptron(optimizer=Momentum(learning_rate=0.1))
    _, history = fit(row, crews(2), conf=conf, epochs=5)
    assert history.epochs[-1].loss < 0.8 * history.epochs[0].loss


@pytest.mark.slow
def test_a_seed_gives_the_same_bits_twice(row, name, usual, crews):
    one, two = usual(name, 3)[0].state, usual(name, 3, number=2)[0].state
    other = fit(row, crews(3), epochs=EPOCHS, master=replace(row.master, seed=11))[0].state
    assert not np.array_equal(one.params, other.params)
    if row.same_bits:
        assert_equal(one, two)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_STEP)
def test_sockets_give_the_bits_that_shared_memory_gives(name, usual, again):
    assert_equal(usual(name, 3)[0].state, again[0].state)


def test_each_epoch_is_validated_with_its_weights(name, usual):
    """Long-lived workers evaluate themselves, with the same figures as one process."""
    network, history, states = usual(name, 2)
    for report, state in zip(history.epochs, states, strict=True):
        alone = Network(network.conf, state).evaluate(VALIDATION).figures()
        assert report.validation.figures() == pytest.approx(alone, rel=1e-5)
        assert report.validation.examples == 307
    assert history.epochs[0].validation.figures() != history.epochs[1].validation.figures()


def test_reports_say_where_time_bytes_and_memory_went(row, again):
    _, history, _ = again
    for report in history.rounds:
        assert report.duration > 0 and 1 <= report.workers <= 3
        assert (report.bytes_sent > 0) == row.master.resident
        assert sum(one.sent for one in report.by_worker) == report.bytes_sent
        assert all(20e6 < one.memory < 20e9 for one in report.by_worker)
    assert history.driver_memory > 20e6
    assert len(history.sent_between) == 3 * row.master.resident
    for rank, (to, figures) in enumerate(zip(history.sent_between, history.by_worker())):
        assert to[rank] == 0 and sum(to) >= figures.sent
    assert history.master == replace(row.master, **without_memory(row)).shown_options()


def test_the_options_that_are_shown_are_those_that_were_given():
    master = MASTERS["all-reduce"].master
    shown = replace(master, batch_size_per_worker=7, tls=TLS)
    options = shown.shown_options()
    assert options["type"] == type(master).__name__ and options["batch_size_per_worker"] == 7
    assert "tls" not in options and "timeout" not in options
    given = {name: value for name, value in options.items() if name != "type"}
    assert type(master)(**given) == replace(shown, tls=None)


class Stop(Listener):
    def __init__(self, rounds):
        self.rounds = rounds

    def on_round(self, report, state):
        self.rounds -= 1
        if not self.rounds:
            raise InterruptedError


@pytest.mark.slow
def test_a_resumed_fit_ends_with_the_weights_of_the_uninterrupted_one(
    row, name, usual, crews, tmp_path
):
    """From the middle of the first epoch through the next one."""
    whole, history, _ = usual(name, 2)
    options = {"epochs": EPOCHS, "checkpoints": Checkpoints(path=tmp_path, every_rounds=1)}
    with pytest.raises(InterruptedError):
        fit(row, crews(2), listeners=[Stop(1)], **options)
    resumed, rest = fit(row, crews(2), resume=tmp_path, **options)
    assert history.rounds[0].rounds_in_epoch > 1 and len(rest.rounds) == len(history.rounds) - 1
    counters = resumed.state.counters
    if not row.same_updates:
        assert counters["iteration"] > 0
        counters["iteration"] = whole.state.iteration
    assert counters == whole.state.counters
    if row.same_bits:
        assert_equal(resumed.state, whole.state)


class Show(Listener):
    """Requests the state after every third update."""

    every_updates = (3,)

    def __init__(self):
        self.states, self.epochs = [], []

    def on_round(self, report, state):
        if state is not None:
            self.states.append(state)

    def on_epoch(self, report, state):
        self.epochs.append(report)


def test_a_fit_ends_with_an_update_and_the_next_one_has_what_is_left(row, crews):
    """Each record is trained once per epoch, wherever rounds are cut."""
    show, data = Show(), Partitions(EVEN)
    network, history = fit(row, crews(2), data, epochs=None, updates=10, listeners=[show])
    met = [state.iteration for state in show.states]
    assert met == sorted(met) and 10 <= met[-1] == network.state.iteration
    assert met[-1] == 10 or (row.late and met[-1] < 12)
    assert row.late or {3, 6, 9} < set(met)
    rest = network.fit(data, 1, row.master, crews(2))
    reports = history.rounds + rest.rounds
    for epoch in range(network.state.epoch):
        assert sum(one.examples for one in reports if one.epoch == epoch) == sum(EVEN)
    assert [report.rounds_in_epoch for report in reports] == [reports[0].rounds_in_epoch] * len(
        reports
    )
    assert network.state.starts_epoch and network.state.rounds == len(reports)


@pytest.mark.parametrize("name", by_kind(JOINT))
def test_updates_up_to_the_last_are_those_of_one_process(name, crews):
    row, workers, data = MASTERS[name], crews(2), Partitions(EVEN)
    master = replace(row.master, **row.joint)
    conf = perceptron(optimizer=row.optimizer, l2=0.01)
    options = {"listeners": [Show()], "updates": 13, "epochs": None}
    network, _ = fit(row, workers, data, conf, master=master, **options)
    seeded = replace(master, seed=conf.seed)
    blocks = workers.load(data, schema_of(conf), master.records_per_block, seeded)
    replica, epochs = new_replica(conf), range(13)
    joint = (b for e in epochs for b in joint_batches(master, blocks, workers, conf, e))
    for number, batch in zip(range(13), joint, strict=False):
        replica.step(batch, conf.rate_at(number, 0), number + 1)
    assert network.state.iteration == 13
    assert_close(network.state.params, replica.params)
    if len(replica.slots):
        assert_close(network.state.slots, replica.slots)


@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce, accumulating"])
def test_evaluations_may_go_by_updates(name, crews):
    """Before the first update and after every fourth; one process gives the same figures."""
    row, validation, states = MASTERS[name], Partitions([70, 3], seed=9), []

    class Keep(Listener):
        def on_validation(self, report, state):
            states.append((report, state))

    options = {"validation": validation, "validate_every": 4, "validate_first": True}
    network, history = fit(row, crews(2), epochs=None, updates=13, listeners=[Keep()], **options)
    assert [report.iteration for report in history.validations] == [0, 4, 8, 12]
    assert all(epoch.validation is None for epoch in history.epochs)
    for report, state in states:
        alone = Network(network.conf, state).evaluate(validation).figures()
        assert report.validation.figures() == pytest.approx(alone, rel=1e-5)
        assert state.iteration == report.iteration


PLACED = ["averaging by the driver", "averaging by peers", "all-reduce, accumulating"]
PLACED += ["servers, in step", "servers, adding up gradients", "updates past a threshold"]


@pytest.mark.parametrize("name", by_kind(PLACED))
def test_the_place_in_the_data_is_found_by_the_number_of_updates(name, crews):
    """Training can therefore resume from foreign vectors that come with only that number."""
    row, show = MASTERS[name], Show()
    whole, _ = fit(row, crews(2), epochs=None, updates=14, listeners=[show])
    [at] = [state for state in show.states if state.iteration == 9]
    assert at.epoch or at.round or at.done
    state = replace(at, epoch=0, round=0, done=0, rounds=0)
    network = Network(CONF, state)
    options = {"updates": 14, "listeners": [Show()]}
    network.fit(Partitions(UNEVEN), None, row.master, crews(2), **options)
    assert network.state.counters == whole.state.counters
    assert_equal(network.state, whole.state)


@pytest.mark.parametrize("name", by_kind(DIVERGING))
def test_divergence_is_an_error_that_names_the_round(name, crews):
    row = MASTERS[name]
    data = Partitions([64])
    data.labels = data.features[:, :1]
    layers = [Output(units=1, loss="mse")]
    conf = softmax_net(layers=layers, optimizer=Momentum(learning_rate=1e12))
    with pytest.raises(DivergedError, match=f"{row.diverges}.*; there is no checkpoint"):
        fit(row, crews(2), data, conf, epochs=9)


def test_long_sequences_are_trained_in_chunks(row, crews):
    """Workers learn the number of updates as they go."""
    data, conf = sequences(np.random.default_rng(1), n=21), recurrent(tbptt=(4, 4))
    network, history = fit(row, crews(2), data, conf, epochs=2)
    assert np.isfinite(history.epochs[-1].loss)
    assert [epoch.examples for epoch in history.epochs] == [21, 21]
    assert network.state.iteration == history.rounds[-1].iteration > 2 * 3
