"""A foreign hook or a misspelt event is refused when the listener's class is defined."""

import pytest

from sparkdl.config.foreign_calls import EVENTS
from sparkdl.config.names import key
from sparkdl.errors import ConfigError
from sparkdl.training.reporting.listeners import Listener

REFUSED = {
    "on_batch_end": "it is on_round(report, state)",
    "on_epoc": "did you mean 'on_epoch'?",
    "on_epoch_begin": "the nearest are on_round(report, state) and on_epoch, after each",
    "on_epoch_end": "it is on_epoch(report, state)",
    "on_fitstart": "did you mean 'on_fit_start'?",
    "on_test_end": "it is on_validation(report, state)",
    "on_train_batch_end": "it is on_round(report, state)",
    "on_train_batch_start": "the nearest are on_round(report, state) and on_epoch, after each",
    "on_train_begin": "it is on_fit_start(plan)",
    "on_train_end": "it is on_fit_end(history)",
    "on_train_start": "it is on_fit_start(plan)",
    "on_validation_epoch_end": "it is on_validation(report, state)",
}


def define(name, *bases, **methods):
    """Creates a listener with a method of this name that does nothing."""
    return type("Own", (*bases, Listener), {name: lambda self, *given: None} | methods)


@pytest.mark.parametrize("name", REFUSED)
def test_a_hook_that_nobody_would_call_is_refused_with_the_event(name):
    with pytest.raises(ConfigError) as caught:
        define(name)
    assert str(caught.value) == f"Listener has no event {name!r}; {REFUSED[name]}"


def test_the_table_leads_to_events():
    assert [word for word in EVENTS if word != key(word)] == []
    assert all(hasattr(Listener, event) for event in EVENTS.values())


class Callback:
    def on_epoch_end(self, epoch, logs=None):
        """Does nothing."""


def tell(self, report, state):
    self.on_epoch_end(report.epoch)


KEPT = {
    "an event": ("on_epoch", (), {}),
    "another method": ("_on_epoch_end", (), {}),
    "a base's": ("on_epoch_end", (Callback,), {}),
    "a called one": ("on_epoch_end", (), {"on_epoch": tell}),
    "no function": ("epoch", (), {"on_epoch_end": None}),
    "its own": ("on_alarm", (), {}),
    "a class": ("epoch", (), {"on_gpu": bool}),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_somebody_calls_is_kept(case):
    name, bases, methods = KEPT[case]
    assert define(name, *bases, **methods)()


def test_a_method_of_the_class_may_be_overridden_below_it():
    base = define("on_epoch_end", on_epoch=tell)
    assert type("Below", (base,), {"on_epoch_end": print})()
