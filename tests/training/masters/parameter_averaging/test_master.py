"""Parameter averaging is repeatable, trains every record, and raises clear errors."""

import json
from dataclasses import replace
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DivergedError, WorkerError
from sparkdl.exchange.connections.tls import Tls
from sparkdl.nn import Adam, Dense, Momentum, NetworkConf, Output, Sgd
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.schedules import MultiStepSchedule
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging, check_finite
from sparkdl.training.network import Network, first_state
from sparkdl.training.rounds.block_training import Round, train_block
from sparkdl.training.workers.contribution import Contribution
from tests.training.problems import (
    EVEN,
    UNEVEN,
    Partitions,
    averaging,
    perceptron,
    rounds_of,
    run,
    softmax_net,
    whole_net,
)


def test_slots_start_anew_whatever_the_state_brings():
    """For example a state that was trained with averaged slots."""
    conf = perceptron(optimizer=Momentum(learning_rate=0.1))
    (block,) = Partitions([8]).read(Partitions([8]).splits()[0])
    shared = round_of(conf, 8, keep_slots=False)
    with_slots = replace(shared.state, slots=shared.state.slots + 1)
    found = train_block(replace(shared, state=with_slots), 0, block)
    np.testing.assert_array_equal(found.vector, train_block(shared, 0, block).vector)
    averaged = train_block(replace(shared, state=with_slots, keep_slots=True), 0, block)
    assert (averaged.vector[: conf.parameter_count] != found.vector).all()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["driver", "peers"])
def test_slots_that_are_not_averaged_are_reset_in_the_network_too(way, crews):
    """A later fit, by another master, would continue with those of an earlier one."""
    network = Network(perceptron(optimizer=Momentum(learning_rate=0.1)))
    for keeps in (True, False):
        options = {"average_optimizer_state": keeps, "aggregation": way}
        network.fit(Partitions(EVEN), 1, averaging(**options), crews(2))
        assert network.state.slots.any() == keeps


def test_dropout_drops_others_in_the_next_epoch():
    (block,) = Partitions([8]).read(Partitions([8]).splits()[0])
    for conf, changes in ((whole_net(), True), (perceptron(), False)):
        shared = round_of(conf, 8, batch_size=8)
        later = replace(shared, state=replace(shared.state, epoch=1))
        losses = [train_block(s, 0, block).loss for s in (shared, later)]
        assert (abs(losses[0] - losses[1]) > 1e-3) == changes


@pytest.mark.slow
def test_buffers_are_averaged_by_examples_too(crews):
    conf, master = whole_net(), averaging(averaging_frequency=3, repartition="never")
    states, _, blocks = run(master, crews(3), Partitions([17, 5, 12]), conf, rounds=1)
    ((_, chosen),) = rounds_of(master, crews(3), blocks, first_state(conf), 1)
    sizes = [blocks.sizes[i] for i in chosen]
    assert len(set(sizes)) > 1
    alone = [train_block(round_of(conf, blocks.sizes[i]), i, blocks.blocks[i]) for i in chosen]
    wanted = sum(n * c.vector.astype(float) for n, c in zip(sizes, alone)) / sum(sizes)
    buffers = slice(conf.parameter_count, conf.parameter_count + conf.buffers_layout.size)
    np.testing.assert_allclose(states[0].buffers, wanted[buffers], rtol=1e-5, atol=1e-7)
    assert np.abs(states[0].buffers - first_state(conf).buffers).max() > 0.01
    assert len({c.vector[buffers].tobytes() for c in alone}) == len(chosen)


def round_of(conf, examples, **options):
    """Returns the inputs that all workers of a first round share."""
    defaults = {"batch_size": 4, "prefetch": 0, "transform": None}
    defaults |= {"keep_slots": True, "device": "cpu", "backend": "reference"}
    return Round(conf=conf, state=first_state(conf), examples=examples, **defaults | options)


# Repeatability


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_same_seed_gives_the_same_bits(size, crews):
    conf, master = (
        whole_net(optimizer=Momentum(learning_rate=0.1)),
        averaging(averaging_frequency=2, seed=4),
    )
    first, again = (
        run(master, crews(size), Partitions(UNEVEN), conf, epochs=2)[0] for _ in range(2)
    )
    assert len(first) == len(again) > 5
    for one, other in zip(first, again):
        for name in ("params", "buffers", "slots"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.slow
def test_new_processes_give_the_same_bits(crews):
    """A process keeps nothing that the next round depends on."""
    conf, master = whole_net(optimizer=Adam()), averaging()
    first = run(master, crews(2), Partitions(UNEVEN), conf)[0][-1]
    crews(2).close()
    again = run(master, crews(2), Partitions(UNEVEN), conf)[0][-1]
    np.testing.assert_array_equal(first.params, again.params)


@pytest.mark.slow
def test_another_seed_gives_another_order_and_other_weights(crews):
    conf = perceptron()
    results = [
        run(averaging(seed=seed), crews(2), Partitions(EVEN), conf)[0][-1].params for seed in (1, 2)
    ]
    assert np.abs(results[0] - results[1]).max() > 1e-4


@pytest.mark.slow
def test_prefetch_and_depth_change_nothing(crews):
    conf = whole_net()
    results = [
        run(averaging(**options), crews(2), Partitions(UNEVEN), conf)[0][-1].params
        for options in ({"prefetch": 0}, {"prefetch": 5}, {"aggregation_depth": 1})
    ]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


# No record is left out


class Note:
    """A transform that records the ids that a worker trains on."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, batch):
        with open(self.folder / f"{batch.ids[0]}", "a") as file:
            file.write(f"{' '.join(map(str, batch.ids))}\n")
        return batch


def trained_ids(folder):
    return sorted(int(i) for file in folder.iterdir() for i in file.read_text().split())


SHAPES = {
    "even": (2, EVEN),
    "uneven": (3, UNEVEN),
    "fewer records than workers": (3, [1, 1]),
    "one record": (3, [0, 1]),
    "one more than a batch": (2, [5]),
    "a last block of one": (2, [9, 12]),
}


@pytest.mark.parametrize("repartition", ["always", "never"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_record_is_trained_once_in_each_epoch(name, repartition, crews, tmp_path):
    size, counts = SHAPES[name]
    master = averaging(averaging_frequency=2, repartition=repartition)
    options = {"epochs": 2, "transform": Note(tmp_path)}
    states, reports, blocks = run(master, crews(size), Partitions(counts), perceptron(), **options)
    ids = [(p << 40) + i for p, n in enumerate(counts) for i in range(n)]
    assert trained_ids(tmp_path) == sorted(2 * ids)
    for epoch in (0, 1):
        ours = [r for r in reports if r.epoch == epoch]
        assert sum(r.examples for r in ours) == sum(counts)
        assert [r.round for r in ours] == list(range(master.rounds_in_epoch(crews(size), blocks)))
        assert {r.rounds_in_epoch for r in ours} == {len(ours)}
    assert (states[-1].epoch, states[-1].round, states[-1].rounds) == (2, 0, len(reports))
    assert reports[0].workers == min(size, sum(counts), len(blocks.sizes))
    assert np.isfinite(states[-1].params).all()


def test_epochs_go_through_the_records_in_another_order(crews):
    master = averaging(averaging_frequency=2)
    blocks = run(master, crews(2), Partitions(EVEN), perceptron(), rounds=1)[2]
    first, second = (
        master.plan(crews(2), blocks, replace(first_state(perceptron()), epoch=e)) for e in (0, 1)
    )
    assert first != second
    for plan in (first, second):
        assert sorted(chain(*plan)) == list(range(len(blocks.sizes)))
        assert all(len(chosen) == 2 for chosen in plan[:-1])


def test_a_minibatch_of_a_block_is_another_one_in_the_next_epoch(tmp_path):
    block = Partitions([8]).read(Partitions([8]).splits()[0])
    (block,) = block
    for epoch in (0, 1):
        shared = round_of(perceptron(), 8, transform=Note(tmp_path / str(epoch)))
        (tmp_path / str(epoch)).mkdir()
        state = replace(shared.state, epoch=epoch)
        train_block(replace(shared, state=state), 0, replace(block, columns=dict(block.columns)))
    orders = [sorted(f.read_text() for f in (tmp_path / e).iterdir()) for e in "01"]
    assert trained_ids(tmp_path / "0") == trained_ids(tmp_path / "1") == list(range(8))
    assert orders[0] != orders[1]


@pytest.mark.slow
def test_a_transform_is_what_the_replica_sees(crews):
    conf, data = perceptron(), Partitions(EVEN)
    doubled = Partitions(EVEN)
    doubled.features = data.features * 2
    one = run(averaging(), crews(2), data, conf, transform=double)[0][-1]
    other = run(averaging(), crews(2), doubled, conf)[0][-1]
    np.testing.assert_array_equal(one.params, other.params)


def double(batch):
    return batch.replace(features=batch.features * 2)


def test_the_seconds_of_a_round_are_told_by_part(crews):
    _, reports, _ = run(averaging(), crews(2), Partitions(EVEN), perceptron(), rounds=3)
    assert all(r.seconds["compute"] > 0 and r.duration > 0 for r in reports)


# Errors


def test_a_loss_that_is_not_finite_names_epoch_and_round(crews):
    conf = perceptron(
        layers=[Output(units=2, loss="mse")], optimizer=Sgd(learning_rate=1e25), input_shape=(4,)
    )
    data = Partitions([24])
    data.labels = np.ones((24, 2), np.float32)
    message = r"loss (nan|inf) in epoch 0, round [12]: training has diverged; lower the learning"
    with pytest.raises(DivergedError, match=message):
        run(averaging(), crews(2), data, conf, epochs=2)


def test_weights_that_are_not_finite_are_found_at_once(crews):
    """The round's loss was computed before the update that spoils the weights."""
    layers = [Dense(units=2), Output(units=3)]
    conf = softmax_net(layers=layers, optimizer=Sgd(learning_rate=3e38))
    data = Partitions([2])
    data.features = data.features * 1e4
    with pytest.raises(DivergedError, match=r"in epoch 0, round 0: training has diverged"):
        run(averaging(), crews(2), data, conf)


def test_infinities_that_come_from_training_are_found():
    """Earlier infinities count as constants, but only in live models."""
    conf, live = whole_net(), SimpleNamespace(keeps_constants=True)
    state = first_state(conf)
    state = replace(state, buffers=state.buffers.copy())
    state.buffers[0] = np.inf
    result = Contribution(np.zeros(3, np.float32), 1, 0.5, 1, 0.0, 0.0)
    check_finite(live, result, state, state)
    with pytest.raises(DivergedError, match=r"training has diverged"):
        check_finite(conf, result, state, state)
    for value in (np.inf, np.nan):
        after = replace(state, buffers=state.buffers.copy())
        after.buffers[1] = value
        with pytest.raises(DivergedError, match=r"loss 0.5 in epoch 0, round 0: training has"):
            check_finite(live, result, after, state)


class Losing:
    """Workers that lose a record."""

    size = 2

    def __init__(self, blocks):
        self.sizes, self.checked = blocks, []

    def check_result(self, nbytes, depth):
        self.checked.append((nbytes, depth))

    def run_round(self, task, blocks, chosen, shared, depth):
        figures = {"examples": 3, "loss": 1.0, "updates": 1, "reading": 0.0, "compute": 0.0}
        return Contribution(vector=np.zeros(3, np.float32), **figures)


def test_records_that_are_lost_are_an_error():
    workers = Losing([2, 2])
    with pytest.raises(WorkerError, match="round 0 must train 4, got 3"):
        next(averaging().epoch(workers, perceptron(), workers, first_state(perceptron())))


@pytest.mark.parametrize("keeps", [True, False], ids=["with slots", "without"])
def test_the_size_of_contributions_is_checked_first(keeps):
    workers, conf = Losing([2, 2]), perceptron(optimizer=Momentum())
    state = first_state(conf)
    master = averaging(average_optimizer_state=keeps, aggregation_depth=3)
    with pytest.raises(WorkerError):
        next(master.epoch(workers, conf, workers, state))
    assert workers.checked == [(state.params.nbytes * (1 + keeps), 3)]


BAD = {
    "no batch": ({"batch_size_per_worker": 0}, "batch_size_per_worker must be an integer >= 1"),
    "part of a batch": ({"batch_size_per_worker": 2.5}, "an integer >= 1, got 2.5"),
    "never averaged": ({"averaging_frequency": 0}, "averaging_frequency must be an integer >= 1"),
    "a truth": ({"averaging_frequency": True}, "averaging_frequency must be an integer >= 1"),
    "no depth": ({"aggregation_depth": 0}, "aggregation_depth must be an integer >= 1, got 0"),
    "prefetch below 0": ({"prefetch": -1}, "prefetch must be an integer >= 0, got -1"),
    "no workers": ({"workers": 0}, "workers must be an integer >= 1 or None, got 0"),
    "seed below 0": ({"seed": -3}, r"seed must be an integer in \[0, 2\^63\) or None, got -3"),
    "seed too large": ({"seed": 1 << 63}, r"seed must be an integer in \[0, 2\^63\) or None"),
    "slots": (
        {"average_optimizer_state": 1},
        "average_optimizer_state must be True or False, got 1",
    ),
    "a way unknown": (
        {"repartition": "sometimes"},
        r"repartition must be 'always', 'uneven' or 'never', got 'sometimes'",
    ),
    "no backend": ({"backend": ""}, "backend must be a name that is not empty, got ''"),
    "a device unknown": ({"device": "gpu"}, r"device must be .* or 'cuda', got 'gpu'"),
    "a GPU as an engine": (
        {"backend": "cuda"},
        "must be 'auto' .*give device='cuda'",
    ),
    "an engine unknown": (
        {"backend": "nccl"},
        r"backend must be one of \('auto', .*\), got 'nccl'; it names a CPU engine; exchange= says",
    ),
    "NCCL of processors": (
        {"device": "cpu", "exchange": "nccl"},
        "exchange must be 'auto' or 'sockets', got 'nccl'; as workers compute on processors",
    ),
    "NCCL of an engine": (
        {"backend": "onednn", "exchange": "nccl"},
        "exchange must be 'auto' or 'sockets', got 'nccl'; as workers compute on processors",
    ),
    "an engine on a GPU": (
        {"device": "cuda", "backend": "onednn"},
        "must be 'auto' for a GPU",
    ),
    "TLS by the driver": (
        {"aggregation": "driver", "tls": Tls()},
        r"tls must be None where the driver averages, got Tls.*; .*spark.network.crypto.enabled",
    ),
    "checksums by the driver": (
        {"aggregation": "driver", "integrity": True},
        "integrity must be False where the driver averages, got True; aggregation='peers' supports",
    ),
    "no level": (
        {"storage_level": None},
        "storage_level must be a name that is not empty, got None",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_options_that_cannot_work_are_refused(name):
    options, message = BAD[name]
    with pytest.raises(ConfigError, match=f"^ParameterAveraging.*{message}"):
        ParameterAveraging(**options)


TOLD = [("auto", "auto", "auto"), ("cpu", "auto", "cpu"), ("cuda", "auto", "cuda")]
TOLD += [("auto", "onednn", "cpu"), ("cpu", "reference", "cpu")]


@pytest.mark.parametrize("device, backend, told", TOLD)
def test_tasks_are_told_of_a_gpu_unless_the_engine_is_the_processors(device, backend, told):
    assert averaging(device=device, backend=backend).task_device == told


def test_an_unknown_option_is_refused():
    with pytest.raises(
        ConfigError, match="'averaging_frequenzy'; did you mean 'averaging_frequency'"
    ):
        ParameterAveraging(averaging_frequenzy=3)


def test_options_as_a_dict_are_json_and_give_the_master_back():
    master = averaging(workers=3, seed=2**63 - 1, average_optimizer_state=False)
    options = json.loads(json.dumps(master.to_dict()))
    assert ParameterAveraging(**options) == master
    assert options["workers"] == 3 and ParameterAveraging().to_dict() == {
        "batch_size_per_worker": 64,
        "averaging_frequency": 5,
        "average_optimizer_state": True,
        "aggregation": "auto",
        "aggregation_depth": 2,
        "codec": None,
        "workers": None,
        "prefetch": 2,
        "repartition": "uneven",
        "storage_level": "MEMORY_AND_DISK",
        "seed": None,
        "device": "auto",
        "backend": "auto",
        "timeout": 60.0,
        "stall_timeout": 600.0,
        "snapshot_every": 100,
        "snapshot_seconds": 1.0,
        "max_restarts": 3,
        "rescale_every": 1,
        "ports": "0",
        "interface": None,
        "tls": None,
        "integrity": False,
        "shared_memory": True,
        "exchange": "auto",
    }


def test_a_block_is_what_a_worker_trains_on_in_a_round():
    assert ParameterAveraging().records_per_block == 320


def test_a_network_with_many_options_is_compiled_once(crews):
    """A process looks up its replica by the conf, which must therefore be hashable."""
    layers = [Dense(units=3, activation={"type": "elu", "alpha": 0.5}), Output(units=3)]
    rate = MultiStepSchedule(initial=0.1, gamma=0.5, steps=[2, 4])
    conf = NetworkConf(input_shape=[4], layers=layers, optimizer=Momentum(learning_rate=rate))
    (block,) = Partitions([8]).read(Partitions([8]).splits()[0])
    result = train_block(round_of(conf, 8), 0, block)
    replica = Replica(conf)
    assert len(result.vector) == len(replica.params) + len(replica.slots)
    assert result.updates == 2 and result.examples == 8
