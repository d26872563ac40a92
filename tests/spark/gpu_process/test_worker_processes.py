"""A task that owns several GPUs runs one worker on each; the device is the host's double."""

import multiprocessing
from functools import partial
from itertools import count
from queue import Queue
from threading import Event, Thread

import pytest
from pyspark import TaskContext

from sparkdl.errors import DataError, WorkerError
from sparkdl.spark.gpu_process.worker_processes import (
    AHEAD,
    POLL,
    deal_items,
    gpu_of,
    run_workers,
)
from sparkdl.spark.launch.team import Team
from tests.spark import elsewhere
from tests.spark.gpu_process.test_dispatch import HOST, Context
from tests.support.cuda.on_host import require_compiler
from tests.support.waiting import until

TEAMS = [
    # blocks of each worker, workers of a task, ranks of each task, {key: (rank, task)}
    ([[0, 2], [1]], 1, [[0], [1]], {0: (0, 0), 1: (1, 1), 2: (0, 0), (3, 4): (1, 1)}),
    ([[0], [1], [2, 3]], 2, [[0, 1], [2]], {1: (1, 0), 3: (2, 1), (0, 1): (1, 0), (1, 1): (2, 1)}),
    ([[0], [], [1]], 3, [[0, 1, 2]], {0: (0, 0), 1: (2, 0), (0, 4): (1, 0)}),
    ([[0], [1]], 8, [[0, 1]], {0: (0, 0), 1: (1, 0)}),
]


@pytest.mark.parametrize("shares, each, ranks, keys", TEAMS)
def test_who_is_where_and_gets_what(shares, each, ranks, keys):
    team = Team.of(shares, each)
    assert [list(team.ranks(task)) for task in range(team.tasks)] == ranks
    assert {key: (team.rank(key), team.task(key)) for key in keys} == keys


def test_further_workers_share_the_gpus_of_a_task():
    assert [gpu_of(number, ("0", "1")) for number in range(3)] == [("0",), ("1",), ("0",)]
    assert gpu_of(1, ()) == ()


@pytest.fixture(autouse=True)
def context(monkeypatch):
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: Context(["0", "1"])))


def number_blocks():
    return ((number, f"block {number}") for number in range(5))


def on_two(compute, items=None):
    """Runs `compute` on five blocks, or on these items, in two workers."""
    require_compiler()
    try:
        team = Team.of([[0, 3], [1, 2, 4]], 2)
        run_workers("cuda", compute, items or number_blocks(), team.workers(0), team)
    finally:  # either a thread or this one may learn of the end first
        until(lambda: not multiprocessing.active_children())


def test_each_worker_has_a_process_a_gpu_and_its_items(tmp_path):
    on_two(partial(elsewhere.note, HOST, str(tmp_path)))
    assert elsewhere.noted(tmp_path) == {
        "0": ["the host (GPU-0)", [0, 2], [0, 3]],
        "1": ["the host (GPU-1)", [1, 2], [1, 2, 4]],
    }


ENDS = {
    "it raises": (DataError, "rank 1 has a bad record", elsewhere.refuse),
    "it dies": (
        WorkerError,
        r"process \d+ on .*GPU-1.*: ended with exit code -9",
        elsewhere.vanish,
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_when_one_fails_none_is_left(name):
    kind, message, compute = ENDS[name]
    with pytest.raises(kind, match=message):
        on_two(partial(compute, HOST))


def test_a_failed_worker_ends_the_dealing():
    endless = ((number % 5, "a piece of a block") for number in count())
    with pytest.raises(DataError, match="rank 1 has a bad record"):
        on_two(partial(elsewhere.refuse, HOST), endless)


def test_few_items_wait_in_memory_for_a_worker():
    team, taken, has_failed = Team.of([[0]], 1), [], Event()
    endless = ((0, taken.append(number)) for number in count())
    dealer = Thread(
        target=deal_items, args=(endless, {0: Queue(AHEAD)}, team, has_failed), daemon=True
    )
    dealer.start()
    until(lambda: len(taken) > AHEAD)
    dealer.join(3 * POLL)
    assert dealer.is_alive() and len(taken) == AHEAD + 1
    has_failed.set()
    dealer.join()
