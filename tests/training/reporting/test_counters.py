"""A resumed fit continues the counters of its listeners, as if never interrupted."""

import logging
from contextlib import suppress

import numpy as np
import pytest

from sparkdl.training.network import Network
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.saving.model_checkpoint import ModelCheckpoint
from tests.training.master_table import MASTERS
from tests.training.models import assert_equal
from tests.training.problems import Partitions, perceptron

DATA, TEST = Partitions([40, 30]), Partitions([9], seed=5)
DRIVER, PEERS = "averaging by the driver", "all-reduce"


def patient(**options):
    """An EarlyStopping that never sees an improvement, so it stops the fit after epoch 4."""
    return EarlyStopping("validation loss", patience=3, min_delta=1e9, **options)


def reducing():
    return ReduceLROnPlateau("validation loss", factor=0.5, patience=2, min_delta=1e9)


def interrupted(epoch):
    """Returns a listener that fails at the end of epoch `epoch`."""

    def on_epoch(report, state):
        if state.epoch == epoch:
            raise KeyboardInterrupt

    return LambdaListener(on_epoch=on_epoch)


def fit(workers, network, listeners, master=DRIVER, **options):
    master = MASTERS[master].master
    return network.fit(DATA, 9, master, workers, validation=TEST, listeners=listeners, **options)


RESUMED = {  # master, options of the checkpoints; None resumes the network itself
    "after each epoch": (DRIVER, {}),
    "after each round": (DRIVER, {"every_rounds": 1}),
    "workers that stay": (PEERS, {"every_rounds": 1}),
    "without a checkpoint": (DRIVER, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [2, 3], ids=["before a change", "as the rates change"])
@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_fit_waits_no_longer_and_lowers_the_rates_where_it_would_have(
    name, epochs, crews, tmp_path
):
    master, when = RESUMED[name]
    whole, parts = Network(perceptron()), Network(perceptron())
    fit(crews(2), whole, [patient(), reducing()], master)
    assert (whole.state.epoch, whole.state.rate_factor) == (4, 0.5)

    on = {} if when is None else {"checkpoints": Checkpoints(path=tmp_path, **when)}
    first = [interrupted(epochs), patient(), reducing()]
    with pytest.raises(KeyboardInterrupt):
        fit(crews(2), parts, first, master, **on)
    if on:
        parts = Network(perceptron())
    on |= {"resume": tmp_path if on else True}
    fit(crews(2), parts, [patient(), reducing()], master, **on)
    assert_equal(parts.state, whole.state)


@pytest.mark.slow
def test_a_best_model_is_replaced_by_a_better_one_alone(crews, tmp_path):
    """The best one, here with the largest loss, comes before the interruption."""
    path, network, states = tmp_path / "best", Network(perceptron()), []
    note = LambdaListener(on_epoch=lambda report, state: states.append(state))
    for stop, resume in ([interrupted(6)], None), ([], True):
        keeping = ModelCheckpoint(path, "validation loss", save_best_only=True, mode="max")
        with suppress(KeyboardInterrupt):
            fit(crews(2), network, [keeping, note, *stop], resume=resume)
    losses = [loss_with(network, state) for state in states]
    best = int(np.argmax(losses))
    assert best < 6 < len(losses)
    np.testing.assert_array_equal(Network.load(path).state.params, states[best].params)


def loss_with(network, state):
    return Network(network.conf, state).score(TEST)


@pytest.mark.slow
@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_fit_ends_with_the_best_weights_of_all_epochs(name, crews, tmp_path):
    """The first epoch is the best; the fit is interrupted in the second."""
    master, when = RESUMED[name]
    network, states, workers = Network(perceptron()), [], crews(2)
    note = LambdaListener(on_epoch=lambda report, state: states.append(state))
    on = {} if when is None else {"checkpoints": Checkpoints(path=tmp_path, **when)}
    first = [interrupted(2), patient(restore_best_weights=True), note]
    with pytest.raises(KeyboardInterrupt):
        fit(workers, network, first, master, **on)
    assert network.state.epoch == 2, "what is not over keeps its last weights"
    if on:
        network = Network(perceptron())
    on |= {"resume": tmp_path if on else True}
    stopping = patient(restore_best_weights=True)
    fit(workers, network, [stopping, note], master, **on)
    assert (stopping.best_epoch, network.state.epoch) == (0, 4)
    losses = [loss_with(network, state) for state in (states[0], network.state)]
    assert losses[0] == losses[1] == stopping.best
    np.testing.assert_array_equal(network.state.params, states[0].params)
    assert abs(states[0].params - states[-1].params).max() > 1e-3


@pytest.mark.slow
def test_best_weights_that_nobody_kept_are_said_to_be_lost(crews, caplog):
    network, first, second = Network(perceptron()), patient(), patient(restore_best_weights=True)
    with pytest.raises(KeyboardInterrupt):
        fit(crews(2), network, [first, interrupted(2)])
    with caplog.at_level(logging.WARNING):
        fit(crews(2), network, [second], resume=True)
    assert "the weights of validation loss" in caplog.text
    assert second.best_epoch == 2, "of its own epochs"


def test_a_best_value_that_is_infinite_is_in_checkpoints(crews, tmp_path):
    """A perplexity, for instance, whose loss is too large for exp."""
    network, found = Network(perceptron()), []
    for epochs, value, resume in (1, float("inf"), None), (2, 2.0, tmp_path):
        stopping = EarlyStopping("validation perplexity", mode="min")
        reducing = ReduceLROnPlateau("validation perplexity", mode="min")
        metrics = {"perplexity": lambda *_, value=value: value}
        on = {"checkpoints": Checkpoints(path=tmp_path), "metrics": metrics, "resume": resume}
        master = MASTERS[DRIVER].master
        options = {"validation": TEST, "listeners": [stopping, reducing]} | on
        network.fit(DATA, epochs, master, crews(2), **options)
        found.append(stopping.best)
    assert found == [float("inf"), 2.0]


class Counts(Listener):
    counters = ("heard",)

    def on_fit_start(self, plan):
        self.heard = 0

    def on_epoch(self, report, state):
        self.heard += 1


@pytest.mark.slow
def test_listeners_of_others_go_on_as_well_and_other_ones_begin_anew(crews):
    network, again, other = Network(perceptron()), Counts(), patient()
    with pytest.raises(KeyboardInterrupt):
        fit(crews(2), network, [interrupted(2), Counts()])
    fit(crews(2), network, [other, again], resume=True)
    assert again.heard == network.state.epoch == 6, "patient() began in the third epoch"


@pytest.mark.slow
def test_a_fit_that_was_stopped_has_the_whole_patience_again(crews):
    network = Network(perceptron())
    fit(crews(2), network, [patient()])
    fit(crews(2), network, [patient()], resume=True)
    assert network.state.epoch == 7


class StopsAt(Listener):
    """Interrupts a fit after a round, before the events that follow it."""

    def __init__(self, is_last):
        self.is_last = is_last

    def on_round(self, report, state):
        if self.is_last(report):
            raise KeyboardInterrupt


def ends_second_epoch(report):
    return (report.epoch, report.round + 1) == (1, report.rounds_in_epoch)


UNHEARD = {  # the round before the unheard event, options of the fit
    "the end of an epoch": (ends_second_epoch, {}),
    "an evaluation by updates": (lambda report: report.iteration >= 8, {"validate_every": 8}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["after each round", "workers that stay", "without a checkpoint"])
@pytest.mark.parametrize("event", UNHEARD)
@pytest.mark.parametrize("epochs", [2, 3], ids=["the last epoch", "an epoch"])
def test_what_listeners_have_not_heard_of_they_hear_first(name, event, epochs, crews, tmp_path):
    (master, when), (is_last, options) = RESUMED[name], UNHEARD[event]
    options |= {"master": MASTERS[master].master, "workers": crews(2), "validation": TEST}
    whole, network = Network(perceptron()), Network(perceptron())
    whole.fit(DATA, epochs, **options)
    on = {} if when is None else {"checkpoints": Checkpoints(path=tmp_path, **when)}
    with pytest.raises(KeyboardInterrupt):
        network.fit(DATA, epochs, **options, **on, listeners=[StopsAt(is_last)])
    first, heard = network.history, []
    if on:
        network = Network(perceptron())
    note = LambdaListener(
        on_epoch=lambda report, state: heard.append(state.counters),
        on_validation=lambda report, state: heard.append(state.counters),
    )
    on |= {"resume": tmp_path if on else True}
    rest = network.fit(DATA, epochs, **options, **on, listeners=[note])
    assert figures(first) + figures(rest) == figures(whole.history)
    assert len(heard) == len(figures(rest)) and heard[-1] == whole.state.counters
    assert_equal(network.state, whole.state)
    if when is not None:
        again = Network(perceptron()).fit(DATA, epochs, **options, resume=tmp_path)
        assert figures(again) == [], "what was heard is not told again"


class Noting(Listener):
    """Records the losses of the evaluations reported to it."""

    counters = ("losses",)

    def __init__(self):
        self.losses = []

    def on_validation(self, report, state):
        self.losses.append(loss_of(report))


@pytest.mark.slow
@pytest.mark.parametrize("master", [DRIVER, PEERS])
@pytest.mark.parametrize("is_counted", [False, True], ids=["unheard", "heard"])
def test_an_evaluation_before_the_first_update_is_heard_once(master, is_counted, crews):
    def interrupt(*_):
        raise KeyboardInterrupt

    options = {"master": MASTERS[master].master, "workers": crews(2), "validation": TEST}
    options |= {"validate_every": 100, "validate_first": True}
    network, first, note = Network(perceptron()), Noting(), Noting()
    if not is_counted:
        first.on_validation = interrupt
    stop = LambdaListener(on_validation=interrupt)
    with pytest.raises(KeyboardInterrupt):
        network.fit(DATA, 1, **options, listeners=[first, stop])
    assert not network.state.iteration
    network.fit(DATA, 1, **options, listeners=[note], resume=True)
    assert note.losses == pytest.approx([loss_with(network, Network(perceptron()).state)])


def figures(history):
    """Returns a History's figures of epochs, then those of evaluations by updates."""
    epochs = [(one.epoch, one.loss, one.validation and loss_of(one)) for one in history.epochs]
    return epochs + [(one.iteration, loss_of(one)) for one in history.validations]


def loss_of(report):
    return report.validation.loss
