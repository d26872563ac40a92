"""A listener that ends a fit when its process gets a signal."""

import signal
import threading

import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.reporting.history import History
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
    listener.on_fit_end(History())


def test_after_the_fit_signals_do_what_they_did_before(received):
    listener = TerminateOnSignal("SIGUSR1", "SIGHUP", "SIGUSR1")
    for times in range(3):  # it may follow several fits
        listener.on_fit_start(plan())
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)  # which it was not given
        listener.on_fit_end(History())
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGHUP)
        wanted = [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP]
        assert received == wanted * (times + 1)
        listener.on_fit_start(plan())
        listener.on_round(report(), None)  # the signal of an earlier fit does not end this one
        listener.on_fit_end(History())


def test_a_fit_that_is_refused_leaves_no_handler(received):
    class Refuse(TerminateOnSignal):
        def on_fit_start(self, plan):
            raise ConfigError("no")

    with pytest.raises(ConfigError):
        Listeners(TerminateOnSignal("SIGUSR1"), Refuse()).on_fit_start(plan())
    signal.raise_signal(signal.SIGUSR1)
    assert received == [signal.SIGUSR1]


@pytest.mark.parametrize("event", ["on_round", "on_validation", "on_epoch"])
def test_the_next_event_ends_the_fit(event, received):
    listener = TerminateOnSignal()
    listener.on_fit_start(plan())
    getattr(listener, event)(report(), None)
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(StopTraining):
        getattr(listener, event)(report(), None)
    listener.on_fit_end(History())


def test_a_signal_after_the_last_round_is_the_reason_of_the_end(received):
    listener, history = TerminateOnSignal(), History()
    listener.on_fit_start(plan())
    signal.raise_signal(signal.SIGTERM)
    listener.on_fit_end(history)
    assert history.end_reason == "the driver got SIGTERM" and not received


def test_a_signal_belongs_to_one_listener(received):
    first, second = TerminateOnSignal("SIGUSR1"), TerminateOnSignal("SIGHUP", "SIGUSR1")
    for two in ([first, second], [first, first]):
        with pytest.raises(ConfigError, match="SIGUSR1 must have one TerminateOnSignal, got two"):
            Listeners(*two).on_fit_start(plan())
        for number in (signal.SIGUSR1, signal.SIGHUP):
            signal.raise_signal(number)
        assert received == [signal.SIGUSR1, signal.SIGHUP]
        received.clear()


def test_a_handler_that_somebody_sets_during_the_fit_stays(received):
    listener, own = TerminateOnSignal("SIGUSR1"), []
    listener.on_fit_start(plan())
    signal.signal(signal.SIGUSR1, lambda number, frame: own.append(number))
    listener.on_fit_end(History())
    signal.raise_signal(signal.SIGUSR1)
    assert own == [signal.SIGUSR1] and not received


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


@pytest.mark.parametrize(
    "name", ["SIGKILL", "SIGINT", "SIGCHLD", "SIGSEGV", "TERM", 15, ["SIGTERM"], None]
)
def test_other_names_are_refused(name):
    with pytest.raises(ConfigError, match=r"TerminateOnSignal.signals must be of \['SIGTERM', "):
        TerminateOnSignal(name)
