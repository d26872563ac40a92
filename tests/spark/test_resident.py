"""Masters with long-lived workers on Spark give the weights of LocalWorkers, whoever is lost."""

import re
import time
from contextlib import suppress
from dataclasses import replace

import psutil
import pytest

from sparkdl.data import Arrays
from sparkdl.errors import DataError, DivergedError, WorkerError
from sparkdl.nn import Output, Sgd
from sparkdl.spark import SparkNetwork
from sparkdl.spark.jobs.slots import slots
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.report.page import page, page_data
from sparkdl.training.report.run import Run
from sparkdl.training.reporting.early_stopping import EarlyStopping
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from sparkdl.training.saving.checkpoint import Checkpoints
from sparkdl.training.workers.base import MORE_SLOTS
from sparkdl.training.workers.local import LocalWorkers
from tests.spark.networks import arrays, conf_of, data, rich
from tests.spark.slow import Fault, Slow, Trap, executor_of
from tests.support.browser import needs_browser, open_page
from tests.support.waiting import gone, until
from tests.training.master_table import MASTERS, RESIDENT
from tests.training.models import assert_equal

RECORDS, EPOCHS = 62, 2
CALLS = 4  # minibatches of a round
AVERAGING = ParameterAveraging(
    batch_size_per_worker=5,
    averaging_frequency=2,
    aggregation="peers",
    workers=2,
    prefetch=0,
    stall_timeout=120.0,
    snapshot_every=2,
)


@pytest.fixture(scope="module")
def local():
    with LocalWorkers(2, threads=1) as workers:
        yield workers


@pytest.fixture(scope="module")
def three():
    with LocalWorkers(3, threads=1) as workers:
        yield workers


def fit(sc, master, records=None, conf=None, epochs=EPOCHS, workers=2, **options):
    net = SparkNetwork(sc, conf or rich(), replace(master, workers=workers))
    records = arrays(RECORDS, records_per_split=25) if records is None else records
    return net.network, net.fit(records, epochs, **options)


def test_listeners_steer_both_kinds_of_workers_alike(local, sc):
    expected = Network(rich())
    options = {"epochs": 9, "validation": arrays(31)}

    def listeners():
        watched = {"monitor": "loss", "mode": "max"}
        lower = ReduceLROnPlateau(**watched, factor=0.5, patience=1)
        return [lower, EarlyStopping(**watched, patience=3, restore_best_weights=True)]

    records = arrays(RECORDS, records_per_split=25)
    master = MASTERS["all-reduce"].master
    expected.fit(records, master=master, workers=local, listeners=listeners(), **options)
    network, history = fit(sc, master, listeners=listeners(), **options)
    assert len(history.epochs) == network.state.epoch == 4 and not history.restarts
    assert "loss was not better than" in history.end_reason
    assert network.state.rate_factor == expected.state.rate_factor == 0.125
    assert_equal(network.state, expected.state)


PROTECTED = "all-reduce", "servers, in step"  # checksums on frames change no result


@pytest.mark.parametrize("name", RESIDENT)
def test_both_kinds_of_workers_give_the_same(name, local, sc):
    row, expected = MASTERS[name], Network(rich())
    options = {"epochs": EPOCHS, "validation": arrays(31)}
    records = arrays(RECORDS, records_per_split=25)
    before = expected.fit(records, master=row.master, workers=local, **options)
    network, history = fit(sc, replace(row.master, integrity=name in PROTECTED), **options)
    assert [epoch.examples for epoch in history.epochs] == [RECORDS] * EPOCHS
    assert [epoch.validation.examples for epoch in history.epochs] == [31] * EPOCHS
    assert [len(epoch.validation.wrong) for epoch in history.epochs] == [12] * EPOCHS
    assert not history.restarts
    assert network.state.epoch == EPOCHS
    if row.same_bits:
        assert_equal(network.state, expected.state)
        figures = [[e.validation.figures() for e in h.epochs] for h in (history, before)]
        assert figures[0] == [pytest.approx(each, rel=1e-6) for each in figures[1]]
        numbers = [[one.number for one in h.epochs[-1].validation.wrong] for h in (history, before)]
        assert numbers[0] == numbers[1]


@pytest.mark.parametrize("sizes", [[3, 41, 16, 0], [0, 2, 0], [1]], ids=str)
def test_uneven_and_empty_partitions_are_trained(sizes, sc):
    rows = list(zip(*data(sum(sizes))))
    parts = [rows[sum(sizes[:i]) : sum(sizes[: i + 1])] for i in range(len(sizes))]
    rdd = sc.parallelize(parts, len(parts)).flatMap(lambda part: part)
    _, history = fit(sc, AVERAGING, rdd, validation=rdd)
    assert [epoch.examples for epoch in history.epochs] == [sum(sizes)] * EPOCHS
    assert [epoch.validation.examples for epoch in history.epochs] == [sum(sizes)] * EPOCHS


def kill_the_executor(process):
    executor_of(process).kill()


# Spark's message on the lost worker, or its peers' message if Spark's comes too late.
LOSSES = {
    "its process killed": (
        psutil.Process.kill,
        60.0,
        "worker {0}: Python worker exited|rank {0} on",
    ),
    "stopped": (psutil.Process.suspend, 10.0, "rank {0} on .*: .* 10 s"),
}
RESTARTS = """
seen.restarts = [...document.querySelectorAll("line.restart")].map((line) =>
  [Number(line.dataset.second), line.textContent]);
seen.lanes = document.querySelectorAll("#timeline-fit svg text[text-anchor=end]").length;
"""


@pytest.mark.parametrize("loss", LOSSES)
def test_after_a_loss_the_weights_are_those_of_the_calm_run(loss, tmp_path, sc):
    do, timeout, reason = LOSSES[loss]
    master, trap = replace(AVERAGING, timeout=timeout), Trap(str(tmp_path), after=2 * CALLS)
    expected, undisturbed = fit(sc, AVERAGING, arrays(RECORDS))
    times, start = noted_start()
    fault = Fault(trap, lambda process: times.append(time.perf_counter()) or do(process))
    fault.start()
    network, history = fit(sc, master, arrays(RECORDS, transform=trap), listeners=[start])
    [restart] = history.restarts
    [run] = page_data([Run.of("fit", history)])["runs"]
    [[second, text]] = run["timeline"]["restarts"]
    assert times[1] - times[0] <= second <= run["rounds"]["second"][-1] and text == str(restart)
    assert restart.lost <= AVERAGING.snapshot_every and restart.workers == 2
    assert_equal(network.state, expected.state)
    assert [e.examples for e in history.epochs] == [e.examples for e in undisturbed.epochs]
    assert until(lambda: gone(fault.victim))
    assert re.match(reason.format(fault.partition), restart.reason)


def noted_start():
    """Returns a list, and a listener that adds the time at which a fit has begun."""
    times = []
    return times, LambdaListener(on_fit_start=lambda plan: times.append(time.perf_counter()))


@needs_browser
def test_the_page_of_three_workers_shows_the_kill_of_an_executor_at_its_second(tmp_path, sc):
    trap, (times, start) = Trap(str(tmp_path), after=2 * CALLS), noted_start()
    expected, _ = fit(sc, AVERAGING, arrays(RECORDS), workers=3)
    fault = Fault(trap, lambda one: times.append(time.perf_counter()) or kill_the_executor(one))
    fault.start()
    records = arrays(RECORDS, transform=trap)
    network, history = fit(sc, AVERAGING, records, workers=3, listeners=[start])
    [restart, *moves] = history.restarts
    assert {move.reason for move in moves} <= {MORE_SLOTS}
    assert re.match(r"worker \d: ExecutorLostFailure|rank \d on", restart.reason)
    assert restart.workers == 3
    assert_equal(network.state, expected.state)
    seen = open_page(tmp_path, page([Run.of("fit", history, network)]), RESTARTS)
    [[second, text], *_] = seen["restarts"]
    assert times[1] - times[0] <= second <= history.wall and text == str(restart)
    assert (seen["lanes"], seen["errors"]) == (4, [])  # the driver and three workers


def test_a_loss_that_nobody_may_make_good_is_the_end(tmp_path, sc):
    trap = Trap(str(tmp_path), after=CALLS)
    fault = Fault(trap, psutil.Process.kill)
    fault.start()
    with pytest.raises(WorkerError) as caught:
        fit(sc, replace(AVERAGING, max_restarts=0), arrays(RECORDS, transform=trap))
    _, _, reason = LOSSES["its process killed"]
    caught.match(reason.format(fault.partition))
    assert until(lambda: gone(fault.victim))
    assert slots(sc) == 2


class Interrupt(Listener):
    def __init__(self, slow):
        self.slow = slow

    def on_round(self, report, state):
        self.running = [psutil.Process(number) for number in self.slow.processes()]
        raise InterruptedError


def test_a_fit_that_is_interrupted_leaves_nothing_running(tmp_path, sc):
    slow = Slow(str(tmp_path), 0.2)
    stop = Interrupt(slow)
    with pytest.raises(InterruptedError):
        fit(sc, AVERAGING, arrays(RECORDS, transform=slow), listeners=[stop])
    assert sc.parallelize([1, 2], 2).sum() == 3  # both slots are free
    assert until(lambda: all(map(at_rest, stop.running)))
    calls = slow.calls()
    assert sc.parallelize([1, 2], 2).sum() == 3
    assert slow.calls() == calls


def at_rest(process):
    """Whether a worker has ended, or is idle in Spark's pool without connections."""
    with suppress(psutil.NoSuchProcess):
        return gone(process) or not process.net_connections("inet")
    return True


def test_a_resumed_fit_ends_with_the_weights_of_the_uninterrupted_one(tmp_path, sc):
    class Stop(Listener):
        def on_round(self, report, state):
            if report.epoch == 1:
                raise InterruptedError

    whole, _ = fit(sc, AVERAGING)
    with pytest.raises(InterruptedError):
        kept = Checkpoints(path=tmp_path, every_rounds=2)
        fit(sc, AVERAGING, checkpoints=kept, listeners=[Stop()])
    resumed, _ = fit(sc, AVERAGING, resume=tmp_path)
    assert_equal(resumed.state, whole.state)


def test_errors_come_as_they_are(sc):
    conf, x = conf_of([Output(units=1, loss="mse")], optimizer=Sgd(learning_rate=1e12)), data()[0]
    with pytest.raises(DivergedError, match="in epoch ., round .: training has diverged"):
        fit(sc, AVERAGING, Arrays(x, x[:, :1], records_per_split=25), conf, epochs=9)
    short = sc.parallelize([([0.0] * 6, 1), ([0.0] * 5, 1)], 2)
    with pytest.raises(DataError, match="partition 1"):
        fit(sc, AVERAGING, validation=short)


SHARING = [
    "averaging by peers, changes encoded",
    "all-reduce, half precision",
    "gradients of 1 bit",
    "servers, in step",
    "block momentum",
    "local SGD",
    "elastic",
]


@pytest.mark.parametrize("name", SHARING)
def test_workers_beyond_the_slots_give_the_bits_of_one_for_each(name, three, sc):
    master, expected = replace(MASTERS[name].master, workers=3), Network(rich())
    records = arrays(RECORDS, records_per_split=25)
    expected.fit(records, master=master, workers=three)
    net = SparkNetwork(sc, rich(), master)  # one task has 2 workers, one has 1
    net.fit(records)
    assert_equal(net.network.state, expected.state)
