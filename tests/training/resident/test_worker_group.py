"""The driver's error about workers that keep it waiting."""

import math
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from sparkdl.training.resident.worker_group import LostWorker, WorkerGroup


def test_workers_that_keep_the_driver_waiting_are_named():
    group = WorkerGroup.__new__(WorkerGroup)
    group.size, group.master = 3, SimpleNamespace(stall_timeout=0.3)
    group._messages, group._received, group._limit = SimpleQueue(), {}, math.inf
    group._launched = SimpleNamespace(error=lambda: None)
    group._messages.put((1, {"kind": "report", "rounds": 4}, []))
    with pytest.raises(
        LostWorker,
        match="^no worker has reported for 0.3 s while 'report' of ranks 0, 2 was awaited$",
    ):
        group.gather("report", 4)
