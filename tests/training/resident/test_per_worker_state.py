"""Each worker's own state survives checkpoints, second fits, and lost workers."""

from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

from sparkdl.errors import CheckpointError
from sparkdl.exchange.codecs import Half, OneBit, Threshold, TopK, TwoBit
from sparkdl.nn import Momentum
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.block_momentum.master import BlockMomentum
from sparkdl.training.masters.elastic_averaging.master import ElasticAveraging
from sparkdl.training.masters.gradient_sharing.master import GradientSharing
from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.resident.per_worker_state import redistribute_worker_states
from sparkdl.training.saving.checkpoint import Checkpoints, load_checkpoint
from sparkdl.training.saving.manifest import write_directory
from sparkdl.training.saving.model_directory import load_model, save_model
from tests.training.models import assert_equal
from tests.training.problems import UNEVEN, Partitions, whole_net

CONF = whole_net(optimizer=Momentum(learning_rate=0.05))
SMALL = {"batch_size_per_worker": 4, "timeout": 60.0, "stall_timeout": 200.0}
CODECS = {
    "none": None,
    "Half": Half(),
    "OneBit": OneBit(chunk=64),
    "TwoBit": TwoBit(threshold=0.01),
    "TopK": TopK(0.05),
    "Threshold": Threshold(),  # adaptive
}
MASTERS = {
    "all-reduce": AllReduceSGD(updates_per_round=3, **SMALL),
    "averaging": ParameterAveraging(aggregation="peers", averaging_frequency=2, **SMALL),
    "block momentum": BlockMomentum(block_size_per_worker=8, **SMALL),
    "elastic": ElasticAveraging(tau=2, exchanges_per_round=2, **SMALL),
    "local SGD": LocalSGD(period=2, updates_per_round=4, adaptive=True, **SMALL),
    "local SGD, warm": LocalSGD(period=2, updates_per_round=4, parallel_from=2, **SMALL),
    "local SGD, after": LocalSGD(period=2, updates_per_round=4, parallel_from=1, **SMALL),
    "servers": ParameterServer(updates_per_round=3, **SMALL),
    "gradients": GradientSharing(share="gradients", updates_per_round=3, **SMALL),
    "updates": GradientSharing(share="updates", updates_per_round=3, **SMALL),
}
# GradientSharing always uses a codec.
ROWS = [(m, c) for m in MASTERS for c in CODECS if c != "none" or m not in ("gradients", "updates")]
RESIZED = [("servers", "Threshold"), ("averaging", "OneBit")]
RESIZED += [("updates", "Threshold"), ("elastic", "TopK")]
KEEP = ("OneBit", "TwoBit", "TopK", "Threshold")


def master_of(name, codec):
    return replace(MASTERS[name], codec=CODECS[codec])


def fit(master, workers, epochs, network=None, **options):
    network = Network(CONF) if network is None else network
    network.fit(Partitions(UNEVEN), epochs, master, workers, **options)
    return network


@pytest.mark.slow
@pytest.mark.parametrize("name, codec", ROWS)
def test_a_fit_that_goes_on_is_the_one_that_was_not_interrupted(name, codec, crews, tmp_path):
    master, workers, kept = master_of(name, codec), crews(2), Checkpoints(path=tmp_path)
    whole = fit(master, workers, 2)
    half = fit(master, workers, 1, checkpoints=kept)
    if codec in KEEP:
        assert any(np.abs(residual).max() > 0 for residual in residuals(half.state))
    resumed = fit(master, workers, 2, resume=tmp_path, checkpoints=kept)
    assert_equal(resumed.state, whole.state)
    assert_equal(fit(master, workers, 1, half).state, whole.state)


def residuals(state):
    """Returns the residuals of all workers' codecs."""
    return [
        x for own in state.worker_states for name, x in own.items() if name.endswith("residual")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name, codec", RESIZED)
def test_other_workers_go_on_with_what_there_was(name, codec, size, crews):
    master = master_of(name, codec)
    network = fit(master, crews(3), 1)
    fit(master, crews(size), 1, network)
    assert len(network.state.worker_states) == size and network.state.epoch == 2


@pytest.mark.parametrize("averages", [False, True])
@pytest.mark.parametrize("before, now", [(3, 2), (2, 3), (5, 1), (1, 4), (4, 4)])
def test_what_was_yet_to_be_sent_stays_in_sum(before, now, averages, rng):
    residual = [rng.normal(size=50).astype(np.float32) for _ in range(before)]
    own = tuple({"a.residual": x, "slots": np.full(2, r)} for r, x in enumerate(residual))
    dealt = redistribute_worker_states(own, now, averages)
    factor = now / before if averages else 1
    total = sum(vectors["a.residual"].astype(float) for vectors in dealt)
    np.testing.assert_allclose(total, factor * sum(x.astype(float) for x in residual), atol=1e-5)
    assert all(vectors["a.residual"].dtype == np.float32 for vectors in dealt)
    assert [int(vectors["slots"][0]) for vectors in dealt] == [r % before for r in range(now)]


@pytest.mark.slow
def test_the_workers_of_another_master_begin_without_and_say_so(crews, caplog):
    network = fit(master_of("all-reduce", "OneBit"), crews(2), 1)
    plain = Network(CONF, replace(network.state, worker_states=(), owner=""))
    other = master_of("averaging", "TopK")
    fit(other, crews(2), 1, network)
    assert "which are of another master" in caplog.text
    assert_equal(network.state, fit(other, crews(2), 1, plain).state)


@pytest.mark.slow
@pytest.mark.parametrize("codec, warns", [("OneBit", True), ("Half", False), ("none", False)])
def test_a_checkpoint_without_what_was_kept_back_says_so(codec, warns, crews, tmp_path, caplog):
    """Older checkpoints did not store it."""
    master, kept = master_of("all-reduce", codec), Checkpoints(path=tmp_path)
    fit(master, crews(2), 1, checkpoints=kept)
    conf, state, extra = load_checkpoint(tmp_path)
    save_model(
        f"{tmp_path}/round-{state.rounds:08d}", conf, replace(state, worker_states=()), extra
    )
    fit(master, crews(2), 2, resume=tmp_path)
    assert ("holds no residuals of its workers" in caplog.text) == warns


@pytest.mark.slow
def test_a_saved_model_has_the_network_alone(crews, tmp_path):
    network = fit(master_of("all-reduce", "OneBit"), crews(2), 1)
    network.save(tmp_path / "model")
    assert network.state.worker_states and not Network.load(tmp_path / "model").state.worker_states


@pytest.mark.slow
def test_a_fit_goes_on_from_the_state_of_a_checkpoint(crews, tmp_path):
    master = master_of("all-reduce", "Threshold")
    whole = fit(master, crews(2), 2)
    fit(master, crews(2), 1, checkpoints=Checkpoints(path=tmp_path))
    conf, state, _ = load_checkpoint(tmp_path)
    assert_equal(fit(master, crews(2), 1, Network(conf, state)).state, whole.state)


@pytest.mark.slow
def test_a_master_whose_workers_have_nothing_of_their_own_sends_nothing(crews, tmp_path):
    network = fit(MASTERS["all-reduce"], crews(2), 1, checkpoints=Checkpoints(path=tmp_path))
    assert network.state.worker_states == ()
    [checkpoint] = tmp_path.iterdir()
    assert not (checkpoint / "workers.safetensors").exists()


def short(own):
    return tuple({name: x[:-1] for name, x in vectors.items()} for vectors in own)


DAMAGED = {
    "shorter": (short, "OneBit needs state .*53.*got .*52"),
    "renamed": (lambda own: tuple({"x": v} for o in own for v in o.values()), "OneBit needs state"),
    "none of one": (lambda own: (own[0], {}), "holds the states of 1 worker, this fit needs 2"),
    "too few": (lambda own: own[:1], "holds the states of 1 worker, this fit needs 2"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGED)
def test_states_that_do_not_fit_are_refused(name, crews, tmp_path):
    harm, complaint = DAMAGED[name]
    master, kept = master_of("all-reduce", "OneBit"), Checkpoints(path=tmp_path)
    fit(master, crews(2), 1, checkpoints=kept)
    conf, state, extra = load_checkpoint(tmp_path)
    state = replace(state, worker_states=harm(state.worker_states))
    save_model(f"{tmp_path}/round-{state.rounds:08d}", conf, state, extra)
    with pytest.raises(CheckpointError, match=complaint):
        fit(master, crews(2), 2, resume=tmp_path)


BAD_NAMES = {
    "no number": ({"residual": np.zeros(3)}, "names must begin with a worker's number"),
    "no name": ({"0.": np.zeros(3)}, "names must begin with a worker's number"),
    "a gap": ({"0.x": np.zeros(3), "2.x": np.zeros(3)}, r"workers from 0 on, got \[0, 2\]"),
}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_file_of_other_names_is_refused(name, tmp_path):
    arrays, complaint = BAD_NAMES[name]
    path = tmp_path / "model"
    save_model(path, CONF, replace(Network(CONF).state, worker_states=({"x": np.zeros(3)},)))
    contents = {file.name: file.read_bytes() for file in path.iterdir()}
    contents.pop("manifest.json")
    write_directory(path, contents | {"workers.safetensors": safetensors.numpy.save(arrays)})
    with pytest.raises(CheckpointError, match=complaint):
        load_model(path)
