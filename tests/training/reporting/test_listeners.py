"""Listeners receive all events in order, and the end in any case."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.reporting.history import History
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener, Listeners
from tests.training.reports import plan, report, state


class Recorder(Listener):
    def __init__(self, heard, name):
        self.heard, self.name = heard, name

    def on_fit_start(self, plan):
        self.heard.append((self.name, "start", plan.epochs))

    def on_round(self, report, state):
        self.heard.append((self.name, "round", report.round))

    def on_epoch(self, report, state):
        self.heard.append((self.name, "epoch", report.epoch))

    def on_fit_end(self, history):
        self.heard.append((self.name, "end", len(history.rounds)))


class Broken(Listener):
    def on_fit_end(self, history):
        raise RuntimeError("the disk is full")


def hear_all(listener):
    listener.on_fit_start(plan())
    listener.on_round(report(), state())
    listener.on_epoch(report(epoch=4), state())
    listener.on_fit_end(History())


@pytest.mark.slow
def test_a_listener_may_care_for_nothing():
    hear_all(Listener())
    hear_all(Listeners())


def test_all_hear_everything_in_the_order_given():
    heard = []
    hear_all(Listeners(Recorder(heard, "a"), Recorder(heard, "b")))
    events = [("start", 3), ("round", 0), ("epoch", 4), ("end", 0)]
    assert heard == [(name, *event) for event in events for name in "ab"]


def test_the_end_reaches_all_though_one_fails():
    heard = []
    both = Listeners(Broken(), Recorder(heard, "b"))
    with pytest.raises(RuntimeError, match="the disk is full"):
        both.on_fit_end(History())
    assert heard == [("b", "end", 0)]


def test_what_a_second_one_fails_with_is_a_note():
    with pytest.raises(RuntimeError, match="the disk is full") as caught:
        Listeners(Broken(), Recorder([], "b"), Broken()).on_fit_end(History())
    assert caught.value.__notes__ == ["another listener failed, too: the disk is full"]


class Refusing(Listener):
    def on_fit_start(self, plan):
        raise ConfigError("not with me")


def test_who_was_told_of_a_start_hears_of_the_end_if_another_refuses_the_fit():
    heard, about = [], plan(history=History())
    listeners = Recorder(heard, "a"), Broken(), Refusing(), Recorder(heard, "b")
    with pytest.raises(ConfigError, match="not with me") as refusal:
        Listeners(*listeners).on_fit_start(about)
    assert heard == [("a", "start", 3), ("a", "end", 0)]
    assert about.steering.error is refusal.value and about.steering.refused
    assert about.history.end_reason == "interrupted by ConfigError before the first round"


def test_a_plan_knows_how_far_a_resumed_fit_has_come():
    resumed = plan(epochs=3, rounds_in_epoch=4, epoch=1, round=2, rounds=6)
    assert resumed.rounds_before == 6 and resumed.rounds_in_all == 12


@pytest.mark.parametrize("given", [(0,), (True,), ("2",), 3, None, {2}], ids=repr)
def test_updates_that_are_no_multiples_are_refused_in_the_name_of_the_listener(given):
    """They were refused as `Milestones.show`, or by a TypeError."""
    listener = LambdaListener(every_updates=given)
    with pytest.raises(ConfigError, match="LambdaListener.every_updates must be a tuple of int"):
        Listeners(Listener(), listener)
