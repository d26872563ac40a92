"""Fits that listeners stop or steer, under every master: where they end, and with which state."""

import signal
from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Momentum
from sparkdl.training.fit import trainer as trainer_module
from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.reporting.steering import StopTraining
from sparkdl.training.reporting.terminate_on_signal import TerminateOnSignal
from sparkdl.training.reporting.termination import (
    TerminateOnMaxLoss,
    TerminateOnTarget,
    TerminateOnTime,
)
from sparkdl.training.saving.checkpoint import Checkpoints, list_checkpoints, load_checkpoint
from tests.training.master_table import MASTERS, RESIDENT
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron

DATA, TEST = Partitions([70, 30]), Partitions([9], seed=5)
CONF = perceptron(optimizer=Momentum(learning_rate=0.05))
EACH = sorted({type(row.master): name for name, row in reversed(MASTERS.items())}.values())
EACH = sorted({*EACH, "averaging by the driver", "averaging by peers"})
EXACT = [name for name in EACH if MASTERS[name].same_bits]
QUICK = {"averaging by the driver", "all-reduce", "servers, in step"}


def rows_of(names):
    return [pytest.param(each, marks=[pytest.mark.slow] * (each not in QUICK)) for each in names]


def fit(workers, name, epochs=2, network=None, **options):
    master = replace(MASTERS[name].master, snapshot_every=1000) if name in RESIDENT else None
    master = options.pop("master", master or MASTERS[name].master)
    network = Network(CONF) if network is None else network
    return network, network.fit(DATA, epochs, master, workers, **options)


class States(Listener):
    """Keeps the state after each round."""

    def __init__(self):
        self.of = {}

    def on_fit_start(self, plan):
        self.of = {}

    def on_round(self, report, state):
        if state is not None:
            self.of[state.rounds] = state


def stop_after(rounds, why=""):
    """Returns a listener that stops a fit at its n-th round."""
    heard = []

    def on_round(report, state):
        heard.append(report)
        if len(heard) == rounds:
            raise StopTraining(why)

    return LambdaListener(on_round=on_round)


@pytest.mark.slow
@pytest.mark.parametrize("name", rows_of(EACH))
def test_a_fit_that_is_stopped_ends_after_the_running_round(crews, name):
    workers, states = crews(2), States()
    network, history = fit(workers, name, 9, listeners=[stop_after(2, "enough"), states])
    state, row = network.state, MASTERS[name]
    assert history.end_reason == "enough" and "enough" in str(history)
    assert 2 <= state.rounds == len(history.rounds)
    assert state.iteration == history.rounds[-1].iteration
    assert len(history.epochs) == state.epoch, "an epoch that was done is reported"
    if row.same_bits:
        every = {"snapshot_every": 1} if row.master.resident else {}
        master = replace(row.master, **every)
        fit(workers, name, state.epoch + 1, master=master, listeners=[states])
        assert_equal(state, states.of[state.rounds])
    assert fit(workers, name, 1, network)[1].rounds, "the next fit goes on"


@pytest.mark.slow
@pytest.mark.parametrize("name", rows_of(EACH))
def test_a_stopped_fit_is_resumed_from_where_it_ended(crews, name, tmp_path):
    workers, checkpoints = crews(2), Checkpoints(path=tmp_path, every_rounds=1000)
    options = {"checkpoints": checkpoints, "listeners": [stop_after(2)]}
    stopped, _ = fit(workers, name, 3, **options)
    assert [*list_checkpoints(tmp_path)] == [stopped.state.rounds]
    resumed, rest = fit(workers, name, 3, checkpoints=checkpoints, resume=tmp_path)
    assert resumed.state.epoch == 3
    assert len(rest.rounds) == resumed.state.rounds - stopped.state.rounds
    if MASTERS[name].same_bits:
        assert_equal(resumed.state, fit(workers, name, 3)[0].state)


@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
def test_a_fit_that_a_signal_ends_is_saved(crews, name, tmp_path):
    sent = []

    def send(report, state):
        if not sent:  # a second one would end this process
            sent.append(signal.raise_signal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    options = {"checkpoints": Checkpoints(path=tmp_path, every_rounds=1000)}
    listeners = [LambdaListener(on_round=send), TerminateOnSignal("SIGTERM")]
    network, history = fit(crews(2), name, 9, listeners=listeners, **options)
    assert history.end_reason == "the driver got SIGTERM" and network.state.epoch < 9
    assert [*list_checkpoints(tmp_path)] == [len(history.rounds)]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_fit_that_cannot_begin_leaves_no_handler(crews, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(trainer_module, "schedule_of", raise_error)
    with pytest.raises(RuntimeError, match="no schedule"):
        fit(crews(2), "all-reduce", listeners=[TerminateOnSignal("SIGTERM")])
    assert signal.getsignal(signal.SIGTERM) == before


def raise_error(*_):
    raise RuntimeError("no schedule")


def test_what_early_stopping_restores_is_in_the_last_checkpoint(crews, tmp_path):
    """The fit ends between the checkpoints that it would write by itself."""
    stopping = EarlyStopping("loss", patience=2, mode="max", restore_best_weights=True)
    options = {"checkpoints": Checkpoints(path=tmp_path, every_rounds=1000, keep=1)}
    network, _ = fit(crews(2), "all-reduce", 9, listeners=[stopping], **options)
    _, state, extra = load_checkpoint(tmp_path)
    assert state.rounds == network.state.rounds and state.epoch == 3
    np.testing.assert_array_equal(extra["ending"].params, network.state.params)
    assert not np.array_equal(state.params, network.state.params)


def test_a_stop_before_the_first_round_writes_nothing(crews, tmp_path):
    def stop(plan):
        raise StopTraining

    options = {"checkpoints": Checkpoints(path=tmp_path / "none", every_rounds=1)}
    fit(crews(2), "all-reduce", listeners=[LambdaListener(on_fit_start=stop)], **options)
    assert not list_checkpoints(tmp_path / "none")


@pytest.mark.slow
@pytest.mark.parametrize("name", rows_of(EACH))
def test_early_stopping_ends_with_the_best_weights(crews, name):
    """The monitored loss, maximized here, is best after the first epoch."""
    stopping = EarlyStopping("loss", patience=2, mode="max", restore_best_weights=True)
    rates = LambdaListener(on_epoch=lambda report, state: epochs.append(state))
    epochs, workers = [], crews(2)
    network, history = fit(workers, name, 9, listeners=[stopping, rates])
    assert len(history.epochs) == len(epochs) == 3 and stopping.stopped_epoch == 2
    assert stopping.best_epoch == 0 and "loss was not better than" in history.end_reason
    np.testing.assert_array_equal(network.state.params, epochs[0].params)
    assert network.state.epoch == 3, "as much was trained"
    if MASTERS[name].same_bits:
        assert_equal(epochs[-1], fit(workers, name, 3)[0].state)


@pytest.mark.slow
@pytest.mark.parametrize("name", rows_of(EXACT))
def test_rates_are_changed_in_all_workers(crews, name):
    """Lowering the rate after two epochs equals continuing at the lower rate from there."""
    workers, lower = crews(2), replace(CONF.optimizer, learning_rate=0.05 / 4)
    plateau = ReduceLROnPlateau("loss", factor=0.25, patience=1, mode="max", min_lr=0.05 / 4)
    first = LambdaListener(on_epoch=lambda report, state: epochs.append(state))
    epochs = []
    network, history = fit(workers, name, 4, listeners=[plateau, first])
    assert network.state.rate_factor == 0.25
    factors = [1.0 if one.epoch < 2 else 0.25 for one in history.rounds]
    assert [one.rate_factor for one in history.rounds] == factors
    reduced = next(state for state in epochs if state.epoch == 2)
    by_hand = Network(replace(CONF, optimizer=lower), reduced)
    fit(workers, name, 2, by_hand)
    _, later = fit(workers, name, 1, network)
    assert {one.rate_factor for one in later.rounds} == {0.25}, "it stays with the network"
    network.state = epochs[-1]
    np.testing.assert_allclose(network.state.params, by_hand.state.params, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
def test_a_fit_may_be_stopped_by_any_event(crews, name):
    def stop(*_):
        raise StopTraining

    options = {"validation": TEST, "validate_every": 3, "validate_first": True}
    for event, rounds in [("on_fit_start", 0), ("on_validation", 0), ("on_epoch", 1)]:
        heard = LambdaListener(**{event: stop}, on_fit_end=stop)
        network, history = fit(crews(2), name, 9, listeners=[heard], **options)
        assert (network.state.rounds > 0) == bool(rounds)
        assert network.state.rounds == len(history.rounds) and network.state.epoch == rounds
        assert history.end_reason == "a listener has stopped the fit"


@pytest.mark.slow
@pytest.mark.parametrize("name", rows_of(EACH))
def test_a_target_ends_a_fit_after_the_epoch_that_reaches_it(crews, name):
    workers, target = crews(2), TerminateOnTarget(1e9, "loss")
    network, history = fit(workers, name, 9, listeners=[target])
    assert network.state.epoch == len(history.epochs) == 1
    assert "is as good as the target 1e+09" in history.end_reason
    if MASTERS[name].same_bits:
        assert_equal(network.state, fit(workers, name, 1)[0].state)
    fit(workers, name, None, network, listeners=[target], resume=True)
    assert network.state.epoch == 2, "a resumed fit trains to its next evaluation"


@pytest.mark.parametrize("name", rows_of(EACH))
def test_a_limit_of_the_loss_ends_a_fit(crews, name):
    network, history = fit(crews(2), name, 9, listeners=[TerminateOnMaxLoss(1e-9)])
    assert 1 <= len(history.rounds) == network.state.rounds and network.state.epoch < 9
    assert history.end_reason == f"loss {history.rounds[0].loss:.6g} exceeds 1e-09"


def test_a_target_of_evaluations_by_updates(crews):
    target = TerminateOnTarget(0.0, "validation accuracy")
    options = {"validation": TEST, "validate_every": 2, "listeners": [target]}
    network, _ = fit(crews(2), "all-reduce", 9, **options)
    assert network.state.iteration == 2


def test_time_ends_a_fit(crews):
    seconds = iter(range(100))
    limit = TerminateOnTime(3, clock=lambda: next(seconds))
    _, history = fit(crews(2), "averaging by the driver", 9, listeners=[limit])
    assert len(history.rounds) == 3 and history.end_reason == "3 s have passed"


def test_validation_by_updates_is_watched(crews):
    stopping = EarlyStopping(monitor="validation accuracy", mode="min", patience=1, min_delta=2)
    options = {"validation": TEST, "validate_every": 2, "listeners": [stopping]}
    network, history = fit(crews(2), "all-reduce", 9, **options)
    assert len(history.validations) == 2 and network.state.iteration == 4


UNKNOWN = {
    "a figure of no validation": (
        "validation loss",
        {},
        r"\['loss'\], got 'validation loss'; give",
    ),
    "another system's name": ("val_loss", {"validation": TEST}, "'validation accuracy', "),
}


@pytest.mark.parametrize("monitor, options, text", UNKNOWN.values(), ids=list(UNKNOWN))
def test_a_figure_that_nobody_has_is_refused_before_the_fit(crews, monitor, options, text):
    rounds = States()
    listeners = [rounds, EarlyStopping(monitor)]
    with pytest.raises(ConfigError, match=f"EarlyStopping.monitor must be one of .*{text}"):
        fit(crews(2), "all-reduce", listeners=listeners, **options)
    assert not rounds.of


def test_rates_are_changed_only_where_workers_wait(crews):
    def change(plan):
        plan.steering.rate_factor = 0.5

    with pytest.raises(ConfigError, match="rate_factor can be changed only where the fit waits"):
        fit(crews(2), "all-reduce", listeners=[LambdaListener(on_fit_start=change)])
    network, _ = fit(
        crews(2), "all-reduce", listeners=[LambdaListener(on_fit_start=change, steers=True)]
    )
    assert network.state.rate_factor == 0.5
