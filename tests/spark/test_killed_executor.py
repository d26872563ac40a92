"""An executor that is killed in the middle of a round costs time, and nothing else."""

import os
import signal
import threading
import time

import psutil
import pytest

from sparkdl.spark import SparkNetwork
from sparkdl.training.averaging import ParameterAveraging
from sparkdl.training.listeners import Listener
from tests.spark.networks import arrays, rich
from tests.spark.slow import Slow
from tests.training.models import assert_equal

MASTER = ParameterAveraging(batch_size_per_worker=5, averaging_frequency=2, workers=2, prefetch=0)
RECORDS, EPOCHS = 60, 2


class Killer(Listener):
    """After round `number` it waits until a minibatch of the next is computed, and kills there."""

    def __init__(self, number, slow):
        self.number, self.slow, self.killed = number, slow, None
        self.thread = threading.Thread(target=self._kill, daemon=True)

    def on_round(self, report, state):
        if state.rounds == self.number:
            self.before = time.time_ns()
            self.thread.start()

    def _kill(self):
        while True:
            process, when = self.slow.newest()
            if when > self.before:
                break
            time.sleep(0.01)
        self.killed = executor_of(process)
        os.kill(self.killed, signal.SIGKILL)


def executor_of(process):
    """The JVM above a Python worker, one that this test's driver has started."""
    parents = psutil.Process(process).parents()
    assert psutil.Process() in parents
    return next(p.pid for p in parents if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline()))


def fit(sc, slow, *listeners):
    net = SparkNetwork(sc, rich(), MASTER)
    data = arrays(RECORDS, transform=slow)
    return net, net.fit(data, epochs=EPOCHS, listeners=listeners)


@pytest.mark.parametrize("number", [1, 4], ids=["blocks still with their makers", "blocks cached"])
def test_the_weights_are_those_of_the_undisturbed_run(number, tmp_path, sc):
    paths = tmp_path / "calm", tmp_path / "disturbed"
    for path in paths:
        path.mkdir()
    calm, slow = Slow(str(paths[0]), 0.0), Slow(str(paths[1]), 0.3)
    expected, _ = fit(sc, calm)
    killer = Killer(number, slow)
    net, history = fit(sc, slow, killer)
    assert (
        not psutil.pid_exists(killer.killed) or psutil.Process(killer.killed).status() == "zombie"
    )
    assert [epoch.examples for epoch in history.epochs] == [RECORDS] * EPOCHS
    assert {n for ids in slow.calls() for n in ids} == {n for ids in calm.calls() for n in ids}
    assert len(slow.calls()) > len(calm.calls())  # the killed minibatch was computed again
    assert_equal(net.network.state, expected.network.state)
