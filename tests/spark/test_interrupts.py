"""Ctrl-C in a fit on Spark: trained weights are kept, no job remains, and the next fit works."""

import os
import signal
import threading
import time
from weakref import finalize

import numpy as np
import pytest

from sparkdl.data import Arrays
from sparkdl.nn import Dense, Momentum, NetworkConf, Output
from sparkdl.spark.inference.network_in_use import NetworkInUse
from sparkdl.spark.jobs import interrupts
from sparkdl.spark.network import SparkNetwork
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.lambda_listener import LambdaListener
from tests.support.waiting import until

CONF = NetworkConf(
    input_shape=(4,),
    layers=[Dense(units=5), Output(units=3)],
    optimizer=Momentum(learning_rate=0.05),
)
SMALL = {"batch_size_per_worker": 4, "workers": 2}
MASTERS = {
    "rounds of the driver": ParameterAveraging(aggregation="driver", **SMALL),
    "workers that stay": AllReduceSGD(updates_per_round=2, **SMALL),
}


def active_jobs(sc):
    return list(sc.statusTracker().getActiveJobsIds())


@pytest.mark.parametrize("delay", [0.0, 0.1], ids=["in a listener", "in the next round"])
@pytest.mark.parametrize("master", MASTERS.values(), ids=list(MASTERS))
def test_ctrl_c_leaves_what_was_trained(sc, master, delay):

    def on_round(report, state):
        if report.round == 1 and report.epoch == 0:
            threading.Timer(delay, os.kill, [os.getpid(), signal.SIGINT]).start()
            time.sleep(0 if delay else 5)

    rng = np.random.default_rng(1)
    data = [(x, int(x[0] > 0)) for x in rng.normal(size=(96, 4))]
    net, rdd = SparkNetwork(sc, CONF, master), sc.parallelize(data, 2)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        net.fit(rdd, 50, listeners=[LambdaListener(on_round=on_round)])
    assert until(lambda: not active_jobs(sc)), "but the one that removes records, and ends"
    assert signal.getsignal(signal.SIGINT) is handler
    state = net.network.state
    assert state.rounds == len(net.history.rounds) >= 2 and np.isfinite(state.params).all()
    epochs = state.epoch + 1
    net.fit(rdd, epochs, resume=True)
    assert net.network.state.epoch == epochs


def test_ctrl_c_ends_an_evaluation_as_it_does_a_fit(sc, monkeypatch):
    """Jupyter replaces pyspark's handler by Python's own, which leaves jobs running."""
    handlers, net = [], NetworkInUse()
    net.sc, net.network, net.master = sc, Network(CONF), ParameterAveraging()
    monkeypatch.setattr(net, "_evaluate", lambda *_: handlers.append(signal.getsignal(2)))
    records = SparkRecords(Arrays(np.ones((2, 4)), np.ones(2, int)))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        net.evaluate_by(lambda transform: None, records)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    [handler] = handlers
    assert isinstance(handler, interrupts.Interrupt)


def test_a_call_of_the_jvm_comes_to_its_end(sc):
    """pyspark's own handler would call the JVM in the middle of that call."""
    with pytest.raises(KeyboardInterrupt), interrupts.clean_interrupts(sc):
        with interrupts.interruptible(sc):
            threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()
            start = time.monotonic()
            sc.parallelize([1], 1).foreach(lambda _: time.sleep(60))
    assert time.monotonic() - start < 50 and until(lambda: not active_jobs(sc))
    assert sc.parallelize(range(10), 2).sum() == 45


def test_a_job_within_another_leaves_that_one_its_tag(sc):
    with pytest.raises(KeyboardInterrupt), interrupts.clean_interrupts(sc):
        with interrupts.interruptible(sc):
            with interrupts.interruptible(sc):
                assert sc.parallelize(range(10), 2).sum() == 45
            threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()
            start = time.monotonic()
            sc.parallelize([1], 1).foreach(lambda _: time.sleep(60))
    assert time.monotonic() - start < 50 and until(lambda: not active_jobs(sc))


def test_an_interrupt_that_was_raised_is_not_repeated(monkeypatch):
    """The thread that cancels jobs may still wait for the JVM when the old handler is restored."""
    asked, answered = threading.Event(), threading.Event()

    def cancel_slowly(sc, tag):
        asked.set()
        answered.wait(60)

    monkeypatch.setattr(interrupts, "cancel_tag", cancel_slowly)
    monkeypatch.setattr(interrupts, "must_wait", lambda frame: not asked.is_set())
    before, threads = signal.getsignal(signal.SIGINT), set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt), interrupts.clean_interrupts(None):
        signal.raise_signal(signal.SIGINT)
        assert asked.wait(60)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    [insisting] = [one for one in set(threading.enumerate()) - threads if "_insist" in one.name]
    answered.set()
    insisting.join(60)
    assert not insisting.is_alive()  # without a second KeyboardInterrupt


class Ended:
    """Raises SIGINT in its finalizer."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


ENDED = {  # makers of objects that raise SIGINT when finalized
    "__del__": Ended,
    "finalizer": lambda: finalize(one := type("One", (), {})(), signal.raise_signal, 2) and one,
}


@pytest.mark.parametrize("make", ENDED.values(), ids=list(ENDED))
def test_an_interrupt_where_python_ignores_errors_is_raised_after_it(make, monkeypatch):
    monkeypatch.setattr(interrupts, "cancel_tag", lambda sc, tag: None)
    with pytest.raises(KeyboardInterrupt), interrupts.clean_interrupts(None):
        make()
        until(lambda: False)


def test_an_interrupt_while_the_handler_is_given_back_is_raised_once(monkeypatch):
    interrupt = interrupts.Interrupt(None)
    interrupt.close()
    interrupt(signal.SIGINT, None)
    assert interrupt.asked and not interrupt.raised
    assert not interrupt._repeat()


@pytest.mark.parametrize("moment", ["before it begins", "while it runs"])
def test_a_ctrl_c_between_two_jobs_ends_the_next(moment, monkeypatch):
    """It arrived during another JVM call, so the next job raises it."""
    for name in ("add_tag", "remove_tag"):
        monkeypatch.setattr(interrupts, name, lambda sc, tag: None)
    started = []
    with pytest.raises(KeyboardInterrupt), interrupts.clean_interrupts(None):
        interrupt = signal.getsignal(signal.SIGINT)
        interrupt.asked = moment == "before it begins"
        with interrupts.interruptible(None):
            started.append(1)
            interrupt.asked = True
            raise RuntimeError("this job was cancelled")
    assert len(started) == (moment == "while it runs")


def test_an_error_of_cleaning_up_does_not_hide_an_interrupt(monkeypatch):
    """As in pyspark's `_load_from_socket`, whose cleanup uses a variable that was never set."""
    for name in ("add_tag", "remove_tag"):
        monkeypatch.setattr(interrupts, name, lambda sc, tag: None)
    with pytest.raises(KeyboardInterrupt), interrupts.clean_interrupts(None):
        with interrupts.interruptible(None):
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                raise UnboundLocalError("cannot access local variable 'sockfile'")


def test_a_handler_of_the_user_s_own_stays(sc):
    heard, before = [], signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with interrupts.clean_interrupts(sc):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]
