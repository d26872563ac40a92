"""A listener that ends a fit when its process gets a signal."""

import signal
import threading

import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.reporting.listeners import Listeners
from sparkdl.training.reporting.steering import StopTraining
from sparkdl.training.reporting.terminate_on_signal import TerminateOnSignal
from tests.training.reports import plan, report

NAMES = ["SIGUSR1", "SIGHUP", "SIGTERM"]


@pytest.fixture
def received(monkeypatch):
    """Numbers of the signals that handlers from before the fit received, instead of dying."""
    numbers = []
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in NAMES}
    for number in before:
        signal.signal(number, lambda got, _: numbers.append(got))
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("name", NAMES)
def test_a_signal_ends_the_fit_after_the_round(name, received):
    listener, number = TerminateOnSignal(*NAMES), getattr(signal, name)
    listener.on_fit_start(plan())
    listener.on_round(report(), None)
    signal.raise_signal(number)
    assert not received
    with pytest.raises(StopTraining, match=f"the driver got {name}"):
        listener.on_round(report(), None)
    signal.raise_signal(number)
    assert received == [number], "a second one does what it did before the fit"
    listener.on_fit_end(None)


def test_after_the_fit_signals_do_what_they_did_before(received):
    listener = TerminateOnSignal("SIGUSR1", "SIGHUP", "SIGUSR1")
    for times in range(3):  # it may follow several fits
        listener.on_fit_start(plan())
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)  # which it was not given
        listener.on_fit_end(None)
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGHUP)
        wanted = [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP]
        assert received == wanted * (times + 1)
        listener.on_fit_start(plan())
        listener.on_round(report(), None)  # the signal of an earlier fit does not end this one
        listener.on_fit_end(None)


def test_a_fit_that_is_refused_leaves_no_handler(received):
    class Refuse(TerminateOnSignal):
        def on_fit_start(self, plan):
            raise ConfigError("no")

    with pytest.raises(ConfigError):
        Listeners(TerminateOnSignal("SIGUSR1"), Refuse()).on_fit_start(plan())
    signal.raise_signal(signal.SIGUSR1)
    assert received == [signal.SIGUSR1]


def test_only_the_main_thread_handles_signals():
    errors = []

    def begin():
        try:
            TerminateOnSignal().on_fit_start(plan())
        except ConfigError as error:
            errors.append(str(error))

    thread = threading.Thread(target=begin, name="fits")
    thread.start()
    thread.join(10)
    assert "a fit in the main thread, where Python handles signals, got thread 'fits'" in errors[0]


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP", "SIGINT", "TERM", 15, ["SIGTERM"], None])
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match="TerminateOnSignal.signals must be names of signals"):
        TerminateOnSignal(name)
