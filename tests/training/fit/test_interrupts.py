"""Interrupted fits under every master: what they keep, and that they resume."""

import _thread
from dataclasses import replace
from functools import cache

import numpy as np
import psutil
import pytest

from sparkdl.errors import CheckpointError, ConfigError, WorkerError
from sparkdl.nn import Momentum
from sparkdl.training.network import Network
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.reporting.steering import StopTraining
from sparkdl.training.resident import supervisor
from sparkdl.training.saving.checkpoint import Checkpoints, load_checkpoint
from sparkdl.training.workers.local import LocalWorkers
from tests.training.fit.test_steering import DATA, EACH
from tests.training.master_table import MASTERS
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron

CONF = perceptron(optimizer=Momentum(learning_rate=0.05))


class Trouble(Exception):
    pass


@pytest.fixture
def workers(crews):
    return crews(2)


@pytest.fixture(scope="module")
def whole(crews):
    """Returns the state after three uninterrupted epochs, by name of the master."""
    return cache(lambda name: fit(crews(2), name, 3)[0].state)


def fit(workers, name, epochs=3, network=None, **options):
    network = Network(CONF) if network is None else network
    return network, network.fit(DATA, epochs, MASTERS[name].master, workers, **options)


def fail(*_):
    raise Trouble("the disk is full")


def interrupt(*_):
    _thread.interrupt_main()  # as Ctrl-C does, wherever the fit is at the moment


def after(rounds, what):
    """Returns a listener that calls `what` at its n-th round."""
    heard = []

    def on_round(report, state):
        heard.append(report)
        if len(heard) == rounds:
            what()

    return LambdaListener(on_round=on_round)


ENDS = {"an error of a listener": (fail, Trouble), "Ctrl-C": (interrupt, KeyboardInterrupt)}


@pytest.mark.slow
@pytest.mark.parametrize("what, error", ENDS.values(), ids=list(ENDS))
@pytest.mark.parametrize("name", EACH)
def test_an_interrupted_fit_keeps_what_was_trained(workers, whole, name, what, error):
    network, row = Network(CONF), MASTERS[name]
    with pytest.raises(error):
        fit(workers, name, 3, network, listeners=[after(2, what)])
    state, history = network.state, network.history
    assert 2 <= state.rounds == len(history.rounds), "workers may be ahead of the driver"
    assert state.iteration == history.rounds[-1].iteration
    assert np.isfinite(state.params).all() and not np.array_equal(
        state.params, Network(CONF).state.params
    )
    place = f"what is next is epoch {state.epoch + 1}, round {state.round + 1}"
    assert history.end_reason == f"interrupted by {error.__name__}; {place}"
    _, rest = fit(workers, name, None, network, resume=True)
    assert network.state.epoch == 3 and network.unfinished is None
    assert len(history.rounds) + len(rest.rounds) == network.state.rounds
    if row.same_bits:
        assert_equal(network.state, whole(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
def test_a_lost_cluster_leaves_the_last_state_that_the_driver_has(name):
    def lose():
        for worker in lost._processes:
            psutil.Process(worker.process.pid).kill()

    options = {"snapshot_every": 2, "max_restarts": 0} if MASTERS[name].master.resident else {}
    master, network = replace(MASTERS[name].master, **options), Network(CONF)
    with LocalWorkers(2) as lost, pytest.raises(WorkerError):
        network.fit(DATA, 30, master, lost, listeners=[after(3, lose)])
    rounds = network.state.rounds
    assert rounds == len(network.history.rounds) >= 2
    assert np.isfinite(network.state.params).all() and network.unfinished.epochs == 30


@pytest.mark.slow
def test_what_workers_that_hang_have_is_not_waited_for(workers, monkeypatch):
    monkeypatch.setattr(supervisor, "SALVAGE", 0.0)
    network = Network(CONF)
    with pytest.raises(Trouble):
        fit(workers, "all-reduce", 3, network, listeners=[after(6, fail)])
    assert network.state.epoch == 1 and len(network.history.epochs) == 1
    assert network.state.rounds == len(network.history.rounds) == 5


@pytest.mark.slow
def test_a_stopped_fit_goes_on(workers, whole):
    def stop():
        raise StopTraining

    network, _ = fit(workers, "all-reduce", listeners=[after(2, stop)])
    fit(workers, "all-reduce", None, network, resume=True)
    assert_equal(network.state, whole("all-reduce"))


def test_a_fit_up_to_an_update_goes_on_up_to_it(workers):
    network = Network(CONF)
    with pytest.raises(Trouble):
        fit(workers, "all-reduce", None, network, updates=20, listeners=[after(2, fail)])
    fit(workers, "all-reduce", None, network, resume=True)
    assert network.state.iteration == 20


@pytest.mark.slow
def test_epochs_of_a_resumed_fit_count_from_where_it_began(workers):
    network = fit(workers, "all-reduce", 2)[0]
    with pytest.raises(Trouble):
        fit(workers, "all-reduce", 2, network, listeners=[after(7, fail)])
    assert network.state.epoch in (3, 4), "workers may be ahead of the driver"
    fit(workers, "all-reduce", 2, network, resume=True)
    assert network.state.epoch == 4


def test_there_must_be_a_fit_to_go_on_with(workers):
    network = Network(CONF)
    with pytest.raises(ConfigError, match="resume must be a checkpoint's path where the network"):
        fit(workers, "all-reduce", 1, network, resume=True)
    with pytest.raises(Trouble):
        fit(workers, "all-reduce", 2, network, listeners=[after(1, fail)])
    other = replace(MASTERS["all-reduce"].master, seed=4)
    with pytest.raises(CheckpointError, match="the last fit was written with seed None, this fit"):
        network.fit(Partitions([70, 30]), 1, other, workers, resume=True)
    assert network.unfinished is not None, "nothing has begun"
    fit(workers, "all-reduce", 1, network)
    assert network.unfinished is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
@pytest.mark.parametrize("resume", ["a checkpoint", "the network"])
def test_an_epoch_that_is_resumed_reports_all_its_rounds(workers, name, resume, tmp_path):
    whole, network = fit(workers, name)[1].epochs, Network(CONF)
    in_epoch = sum(report.epoch == 0 for report in fit(workers, name, 1)[1].rounds)
    options = {"checkpoints": Checkpoints(path=tmp_path, every_rounds=1)}
    with pytest.raises(Trouble):
        fit(workers, name, 3, network, listeners=[after(in_epoch + 1, fail)], **options)
    on = True
    if resume == "a checkpoint":
        network, on = Network(CONF), f"{tmp_path}/round-{in_epoch + 1:08d}"
    epochs = fit(workers, name, 3, network, resume=on)[1].epochs
    place = load_checkpoint(on)[1] if on is not True else None
    assert place is None or (place.epoch == 1 and not place.starts_epoch)
    assert [(one.epoch, one.examples, one.loss) for one in epochs] == [
        (one.epoch, one.examples, one.loss) for one in whole[-len(epochs) :]
    ]
    assert len(epochs) == 2 or resume == "the network", "workers may be ahead of the driver"


@pytest.mark.slow
def test_a_worker_that_is_lost_when_all_is_done_is_not_missed(workers, caplog):
    """Workers wait for the driver at the end, so the loss is noticed before they exit."""
    name, ended = "all-reduce", []

    def kill(report, state):
        worker = workers._processes[1].process
        worker.kill()
        worker.join()

    steering = ReduceLROnPlateau("loss")
    end = LambdaListener(on_epoch=kill, on_fit_end=ended.append)
    master = replace(MASTERS[name].master, max_restarts=0)
    network = Network(CONF)
    history = network.fit(DATA, 1, master, workers, listeners=[steering, end])
    assert ended == [history] and not history.restarts and history.end_reason is None
    assert_equal(network.state, fit(workers, name, 1)[0].state)
    assert "training is complete; a worker was lost at the end: worker 1" in caplog.text
