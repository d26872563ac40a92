"""The driver's error about workers that keep it waiting."""

import math
import time
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from sparkdl.errors import WorkerError
from sparkdl.exchange.connections import admission
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.resident.worker_group import LostWorker, WorkerGroup
from sparkdl.training.workers.local import LocalWorkers
from tests.exchange.few_threads import no_thread
from tests.training.problems import Partitions, whole_net


def group_of(is_queued):
    """A group whose workers neither fail nor report, and begin once they are not queued."""
    group = WorkerGroup.__new__(WorkerGroup)
    group.size, group.master = 3, SimpleNamespace(stall_timeout=0.3)
    group._messages, group._received, group._limit = SimpleQueue(), {}, math.inf
    group._no_thread = None
    group._launched = SimpleNamespace(error=lambda: None, is_queued=is_queued)
    return group


@pytest.mark.slow
def test_workers_that_keep_the_driver_waiting_are_named():
    group = group_of(is_queued=lambda: False)
    group._messages.put((1, {"kind": "report", "rounds": 4}, []))
    with pytest.raises(
        LostWorker,
        match="^no worker has reported for 0.3 s while 'report' of ranks 0, 2 was awaited$",
    ):
        group.gather("report", 4)


@pytest.mark.slow
def test_the_time_in_which_workers_await_another_fit_does_not_count():
    start = time.monotonic()
    group = group_of(is_queued=lambda: time.monotonic() < start + 1.5)
    with pytest.raises(LostWorker, match="no worker has reported for 0.3 s"):
        group.gather("report", 4)
    assert time.monotonic() > start + 1.5


@pytest.mark.parametrize("name", ["sparkdl-control", "sparkdl-handshake"])
def test_a_driver_without_threads_is_named_not_the_connections_of_its_workers(name, monkeypatch):
    """Workers see only that it hangs up."""
    monkeypatch.setattr(admission, "PATIENCE", 0.2)
    master = ParameterAveraging(
        aggregation="peers", timeout=4.0, stall_timeout=20.0, max_restarts=0
    )
    with LocalWorkers(2) as workers, no_thread(monkeypatch, name):
        with pytest.raises(WorkerError, match=r"^process .*: can.t start new thread; raise"):
            Network(whole_net()).fit(Partitions([9, 8]), 1, master, workers)
