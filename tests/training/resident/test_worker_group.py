"""The driver's error about workers that keep it waiting."""

import math
import time
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from sparkdl.training.resident.worker_group import LostWorker, WorkerGroup


def group_of(is_queued):
    """A group whose workers neither fail nor report, and begin once they are not queued."""
    group = WorkerGroup.__new__(WorkerGroup)
    group.size, group.master = 3, SimpleNamespace(stall_timeout=0.3)
    group._messages, group._received, group._limit = SimpleQueue(), {}, math.inf
    group._launched = SimpleNamespace(error=lambda: None, is_queued=is_queued)
    return group


def test_workers_that_keep_the_driver_waiting_are_named():
    group = group_of(is_queued=lambda: False)
    group._messages.put((1, {"kind": "report", "rounds": 4}, []))
    with pytest.raises(
        LostWorker,
        match="^no worker has reported for 0.3 s while 'report' of ranks 0, 2 was awaited$",
    ):
        group.gather("report", 4)


def test_the_time_in_which_workers_await_another_fit_does_not_count():
    start = time.monotonic()
    group = group_of(is_queued=lambda: time.monotonic() < start + 1.5)
    with pytest.raises(LostWorker, match="no worker has reported for 0.3 s"):
        group.gather("report", 4)
    assert time.monotonic() > start + 1.5
