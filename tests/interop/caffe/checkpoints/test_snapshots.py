"""Snapshots: training continues as if uninterrupted, and the files hold what Caffe's do."""

import numpy as np
import pytest

from sparkdl.errors import CheckpointError, ConfigError, UnsupportedError
from sparkdl.interop.caffe.checkpoints.snapshots import load_snapshot, save_snapshot
from sparkdl.interop.caffe.checkpoints.solver_state import (
    SolverState,
    read_solver_state,
    write_solver_state,
)
from sparkdl.interop.caffe.checkpoints.weights import read_weights, write_weights
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn import AdaDelta, AdaGrad, AdamHat, Lars, Momentum, Nesterov, RmsProp, Sgd
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.schedules import MultiStepSchedule, StepSchedule
from sparkdl.training.saving.state import TrainState
from tests.interop.caffe.checkpoints.test_blob_orders import start
from tests.nn.networks.test_graph import batch_of

NET = """
layer { name: 'data' type: 'Data' top: 'data' top: 'label' }
layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
        inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } }
layer { name: 'bn' type: 'BatchNorm' bottom: 'ip' top: 'ip' }
layer { name: 'scale' type: 'Scale' bottom: 'ip' top: 'ip' }
layer { name: 'out' type: 'InnerProduct' bottom: 'ip' top: 'out'
        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'out' bottom: 'label' }
"""
BLOBS = [(4, 5), (4,), (4,), (4,), (1,), (4,), (3, 4), (3,)]
# an optimizer, and the blobs per parameter in Caffe's history
OPTIMIZERS = {
    "SGD without momentum": (Sgd(learning_rate=0.1), 1),
    "SGD": (Momentum(learning_rate=0.1, momentum=0.9), 1),
    "Nesterov": (Nesterov(learning_rate=0.1, momentum=0.9), 1),
    "AdaGrad": (AdaGrad(learning_rate=0.1), 1),
    "RMSProp": (RmsProp(learning_rate=0.1), 1),
    "AdaDelta": (AdaDelta(learning_rate=1.0), 2),
    "Adam": (AdamHat(learning_rate=0.1), 2),
}
END = {"BINARYPROTO": "", "HDF5": ".h5"}


def net_of(optimizer, text=NET):
    return load_net(
        parse_text(text, NetParameter),
        state_of("TRAIN"),
        shapes={"data": (5,)},
        optimizer=optimizer,
    )


def trained(conf, state, batches):
    """Returns the state after an update with each of `batches`."""
    replica = Replica(conf)
    replica.load(state.params, state.buffers, state.slots)
    for t, batch in enumerate(batches, 1 + state.iteration):
        replica.step(batch, conf.rate_at(t - 1, 0), t)
    vectors = {name: getattr(replica, name) for name in ("params", "buffers", "slots")}
    return TrainState(**vectors, iteration=state.iteration + len(batches))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("format", END)
def test_training_goes_on_as_if_it_had_not_stopped(name, format, tmp_path, rng):
    optimizer, times = OPTIMIZERS[name]
    net = net_of(optimizer)
    batches = [batch_of(net.conf, rng, 8) for _ in range(5)]
    half = trained(net.conf, start(net.conf), batches[:3])
    path = save_snapshot(net.conf, half, f"{tmp_path}/n", net.layers, format)
    assert path == f"{tmp_path}/n_iter_3.solverstate{END[format]}"
    found = read_solver_state(path)
    assert [blob.shape for blob in found.history] == BLOBS * times
    again = load_snapshot(net.conf, start(net.conf), path, net.layers)
    assert again.iteration == 3
    for vector in ("params", "buffers", "slots"):
        assert np.array_equal(getattr(again, vector), getattr(half, vector))
    wanted, after = (trained(net.conf, state, batches[3:]) for state in (half, again))
    assert after.params.tobytes() == wanted.params.tobytes()


def test_a_velocity_points_where_caffes_does(tmp_path, rng):
    """In Caffe, V = lr g after the first update, and the new weights are W - V."""
    net = net_of(Momentum(learning_rate=0.1, momentum=0.9))
    before = start(net.conf)
    after = trained(net.conf, before, [batch_of(net.conf, rng, 8)])
    save_snapshot(net.conf, before, f"{tmp_path}/n", net.layers)
    path = save_snapshot(net.conf, after, f"{tmp_path}/n", net.layers)
    old, new = (read_weights(f"{tmp_path}/n_iter_{i}.caffemodel") for i in (0, 1))
    history = read_solver_state(path).history
    for blob, layer, i in [(0, "ip", 0), (1, "ip", 1), (5, "scale", 0), (6, "out", 0)]:
        assert np.allclose(old[layer][i] - history[blob], new[layer][i], atol=1e-7)
    assert not any(history[blob].any() for blob in (2, 3, 4))  # BatchNorm's


def test_what_an_optimizer_remembers_twice_stands_in_two_runs(tmp_path, rng):
    """The history of Caffe's Adam has all first moments, then all second moments."""
    net = net_of(AdamHat(learning_rate=0.1, beta1=0.9, beta2=0.99))
    after = trained(net.conf, start(net.conf), [batch_of(net.conf, rng, 8)])
    path = save_snapshot(net.conf, after, f"{tmp_path}/n", net.layers)
    history = read_solver_state(path).history
    means, squares = history[: len(BLOBS)], history[len(BLOBS) :]
    for mean, square in zip(means, squares, strict=True):
        assert np.allclose((mean / 0.1) ** 2, square / 0.01, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize(
    "rate, iteration, drops",
    [
        (0.1, 100, 0),
        (StepSchedule(initial=0.1, step=10), 25, 2),
        (StepSchedule(initial=0.1, step=10), 20, 1),
        (MultiStepSchedule(initial=0.1, steps=(5, 20)), 21, 2),
        (MultiStepSchedule(initial=0.1, steps=(5, 20)), 20, 1),
        (MultiStepSchedule(initial=0.1, steps=(5, 20)), 0, 0),
    ],
)
def test_drops_of_the_rate_are_counted(rate, iteration, drops, tmp_path):
    net = net_of(Sgd(learning_rate=rate))
    state = start(net.conf)
    state = TrainState(
        params=state.params, buffers=state.buffers, slots=state.slots, iteration=iteration
    )
    path = save_snapshot(net.conf, state, f"{tmp_path}/n", net.layers)
    assert read_solver_state(path).current_step == drops


# Where weights are found


@pytest.fixture
def snapshot(tmp_path):
    """(net, path of its .solverstate)"""
    net = net_of(Momentum(learning_rate=0.1))
    return net, save_snapshot(net.conf, start(net.conf), f"{tmp_path}/a/n", net.layers)


def test_weights_are_found_beside_the_state(snapshot, tmp_path):
    net, path = snapshot
    (tmp_path / "a").rename(tmp_path / "b")
    state = load_snapshot(net.conf, start(net.conf), path.replace("/a/", "/b/"), net.layers)
    assert state.params.tobytes() == start(net.conf).params.tobytes()


def test_weights_that_are_nowhere_are_named(snapshot, tmp_path):
    net, path = snapshot
    (tmp_path / "a" / "n_iter_0.caffemodel").unlink()
    with pytest.raises(CheckpointError, match=r"n_iter_0.caffemodel nor beside it"):
        load_snapshot(net.conf, start(net.conf), path, net.layers)


def test_weights_may_be_given(snapshot, tmp_path):
    net, path = snapshot
    (tmp_path / "a" / "n_iter_0.caffemodel").rename(tmp_path / "w")
    load_snapshot(net.conf, start(net.conf), path, net.layers, weights=f"{tmp_path}/w")


def changed(path, **options):
    old = read_solver_state(path)
    names = ("iteration", "history", "current_step", "weights")
    fields = {name: getattr(old, name) for name in names} | options
    write_solver_state(path, SolverState(**fields))


def test_a_state_without_weights_asks_for_them(snapshot):
    net, path = snapshot
    changed(path, weights="")
    with pytest.raises(CheckpointError, match="names no weights"):
        load_snapshot(net.conf, start(net.conf), path, net.layers)


# Errors


def test_weights_of_some_layers_are_not_enough(snapshot, tmp_path):
    net, path = snapshot
    weights = read_weights(f"{tmp_path}/a/n_iter_0.caffemodel")
    del weights["out"]
    write_weights(f"{tmp_path}/a/n_iter_0.caffemodel", weights)
    with pytest.raises(CheckpointError, match="caffemodel: has no weights of out"):
        load_snapshot(net.conf, start(net.conf), path, net.layers)


def test_a_history_of_another_solver_is_refused(snapshot):
    net, path = snapshot
    other = net_of(AdamHat(learning_rate=0.1))
    with pytest.raises(CheckpointError, match="history of AdamHat must have 16 blobs, got 8"):
        load_snapshot(other.conf, start(other.conf), path, net.layers)


def test_a_history_of_other_shapes_is_refused(snapshot):
    net, path = snapshot
    history = list(read_solver_state(path).history)
    history[6] = history[6].T
    changed(path, history=tuple(history))
    with pytest.raises(CheckpointError, match=r"solverstate, history of layer 'out': .*\(4, 3\)"):
        load_snapshot(net.conf, start(net.conf), path, net.layers)


def test_an_optimizer_that_caffe_lacks_is_refused(tmp_path):
    net = net_of(Lars(learning_rate=0.1))
    with pytest.raises(UnsupportedError, match="one optimizer of Sgd, .*, not Lars"):
        save_snapshot(net.conf, start(net.conf), f"{tmp_path}/n", net.layers)
    assert not list(tmp_path.iterdir())


def test_an_average_of_the_weights_is_refused(tmp_path):
    net = net_of(Momentum(learning_rate=0.1, ema_decay=0.9))
    message = r"Momentum.ema_decay must be None for a .solverstate, got 0.9; .*no averages"
    with pytest.raises(UnsupportedError, match=message):
        save_snapshot(net.conf, start(net.conf), f"{tmp_path}/n", net.layers)
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_is_refused(tmp_path):
    net = net_of(Sgd(learning_rate=0.1))
    with pytest.raises(ConfigError, match="format must be one of BINARYPROTO, HDF5, got 'JSON'"):
        save_snapshot(net.conf, start(net.conf), f"{tmp_path}/n", net.layers, format="JSON")
