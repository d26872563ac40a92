"""The compared fits: their summaries, and workers on two hosts, without training."""

import json
import os
import sys
from contextlib import nullcontext

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.nn.execution.replica import Replica
from sparkdl.training.masters.registry import MASTERS
from sparkdl.training.network import Network
from sparkdl.training.resident.metrics import WorkerMetrics
from sparkdl.training.resident.strategy import GradientStep
from sparkdl.training.workers.local import LocalWorkers
from tests.benchmarks.cpu.processes import Failed
from tests.benchmarks.exchange import coding, convergence, overlap
from tests.benchmarks.exchange.by_turns import FIGURES, ByTurns
from tests.benchmarks.exchange.digits import Fit, scaled
from tests.benchmarks.exchange.link import HostWorkers, on_the_left
from tests.support.namespaces import why_not

PLAIN = Fit(
    seconds=[2.0, 4.0, 6.0],
    accuracy=[0.9, 0.98, 0.975],
    sent=3e9,
    rounds=30,
    updates=300,
    examples=24000,
)
LESS = {"seconds": [1.0, 2.0], "sent": 1e8, "rounds": 30, "updates": 300, "examples": 16000}


def test_an_accuracy_is_reached_at_the_end_of_an_epoch():
    assert PLAIN.until(0.97) == 4.0
    assert PLAIN.until(0.99) is None
    assert PLAIN.speed == 4000


@pytest.mark.parametrize("accuracy, missed", [([0.9, 0.972], 0), ([0.9, 0.96], 1)])
def test_one_bit_may_lose_half_a_point(accuracy, missed):
    row = coding.row(coding.ONE_BIT, Fit(accuracy=accuracy, **LESS), PLAIN)
    assert row.bars[0].value == pytest.approx(30)
    assert sum(bar.missed for bar in row.bars) == missed
    assert row.ours == ("never" if missed else "2 s")


def test_other_codecs_have_no_bars():
    row = coding.row("TopK", Fit(accuracy=[0.1, 0.1], **LESS), PLAIN)
    assert not any(bar.missed for bar in row.bars)


def test_every_master_has_a_row():
    assert {name for name, _ in convergence.masters().values()} == set(MASTERS)
    for name, options in convergence.masters().values():
        MASTERS[name](workers=2, **options)


def test_pixels_are_from_0_to_1():
    batch = scaled("test")
    assert (batch.features.min(), batch.features.max()) == (0, 1)


def test_what_is_hidden_is_a_share_of_the_exchange():
    ways = {"alone": [0.10, 0.2, 0.1], "behind": [0.14, 0.23, 0.9], "beside": [0.11, 0.21, 0.1]}
    row = overlap.row(overlap.CASES[0], dict.fromkeys(FIGURES, ways))
    hidden, kept = row.bars
    assert hidden.value == pytest.approx(0.75) and hidden.bound == 0.6
    assert kept.value == pytest.approx(0.1 / 0.11) and kept.bound is None
    assert "exchange 40 ms, exposed 10 ms a step, medians of 3 turns" in row.notes[0]


class One:
    """A worker alone in its group, which records the bytes of each sum."""

    size, rank, sent_bytes, metrics = 1, 0, 7, WorkerMetrics()
    exchanging = nullcontext

    def __init__(self):
        self.conf = NetworkConf(input_shape=(4,), layers=[Dense(units=5), Output(units=3)])
        self.replica, self.group, self.summed = Replica(self.conf), self, []

    def start_all_reduce(self, x):
        self.summed.append(x.nbytes)
        return self

    def wait(self):
        """Returns at once, as no other worker sums."""

    def all_reduce(self, x, op):
        assert op == "max"

    def barrier(self):
        self.summed.append("barrier")

    def gradient(self, step, after=None):
        for final in (after or {}).values():
            final()

    def apply(self):
        self.summed.append("end")


def test_updates_take_all_ways_by_turns():
    worker = One()
    turns = ByTurns(sizes={"behind": 1 << 30, "beside": 1}).strategy(worker)
    for _ in range(6):
        turns._update(
            [GradientStep(Batch.of(np.zeros((2, 4), np.float32), np.zeros(2, int)), 1, None)]
        )
    kept = turns.state()["master_state"]
    assert sorted(kept["way"][:3]) == sorted(kept["way"][3:]) == [0, 1, 2]
    assert kept.keys() == {"way", *FIGURES} and (kept["seconds"] > 0).all()
    exchanges = {0: ["barrier"], 1: [8, 172], 2: [8, 12, 60, 20, 80]}
    wanted = [["barrier", *exchanges[way], "end"] for way in kept["way"]]
    assert worker.summed == [call for calls in wanted for call in calls]


@pytest.mark.slow
def test_workers_of_a_fit_take_all_ways():
    conf = NetworkConf(input_shape=(4,), layers=[Dense(units=5), Output(units=3)])
    data, kept = (np.zeros((48, 4), np.float32), np.zeros(48, int)), overlap.Found()
    options = {"batch_size_per_worker": 4, "shared_memory": False, "device": "cpu"}
    master = ByTurns(updates_per_round=3, **options)
    with LocalWorkers(2) as workers:
        Network(conf).fit(data, 1, master, workers, listeners=[kept])
    assert sorted(kept.master_state["way"]) == [0, 0, 1, 1, 2, 2]
    assert (kept.master_state["seconds"] > 0).all() and kept.master_state["sent"].any()


def network():
    return os.readlink("/proc/self/ns/net")


class Job:
    """A job sent to a worker."""

    def run(self, pipe):
        return network(), [*os.sched_getaffinity(0)]


def main(address, right):
    """Prints, on the left host, the driver's network, and each worker's with its cores."""
    workers = HostWorkers(address, int(right))
    try:
        workers._start()
        for process in workers._processes:
            process.send(Job())
        print(json.dumps([network(), *(process.receive() for process in workers._processes)]))
    finally:
        workers.close()


hosts = pytest.mark.skipif(why_not() is not None, reason=f"no hosts: {why_not()}")


@pytest.mark.slow
@hosts
def test_workers_are_on_two_hosts():
    [[driver, (left, left_cores), (right, right_cores)]] = on_the_left(__name__)
    assert driver == left != right
    assert network() not in (left, right)
    cores = sorted(os.sched_getaffinity(0))
    assert (left_cores, right_cores) == (cores[:1], cores[-1:])


@hosts
def test_what_fails_on_a_host_says_why():
    with pytest.raises(Failed, match="No module named nothing"):
        list(on_the_left("nothing"))


if __name__ == "__main__":
    main(*sys.argv[1:])
