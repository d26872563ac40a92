"""A task that owns several GPUs has a worker on each; the device is the host's double."""

import multiprocessing
import threading
from functools import partial

import pytest
from pyspark import TaskContext

from sparkdl.errors import DataError, WorkerError
from sparkdl.spark.gpu_process.multi_gpu import DeviceRendezvous, TaskWorkers, run_on_gpus
from sparkdl.spark.launch.team import Team
from tests.spark import elsewhere
from tests.spark.gpu_process.test_dispatch import HOST, Context
from tests.support.cuda.compiler import available
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


class Others:
    """A rendezvous of three tasks with two workers each, of which this is the second."""

    rank, size = 1, 3

    def __init__(self):
        self.asked = []

    def all_gather(self, text, timeout):
        self.asked.append((text, timeout))
        if timeout > 50:
            raise WorkerError(f"rank 1: of 3 workers not all were there within {timeout:g} s")
        return ['["a", "b"]', text, '["e", "f"]']


@pytest.fixture(autouse=True)
def context(monkeypatch):
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: Context(["0", "1"])))


def met(limits, rounds=1):
    """What each of two workers of a task is told, or its error, and what the tasks are asked."""
    others, found = Others(), [[], []]
    together = TaskWorkers(others, Team.of([[n] for n in range(6)], 2))

    def meet(place):
        member = DeviceRendezvous(together, place, together.ranks[place])
        for turn in range(rounds):
            try:
                found[place].append(member.all_gather(f"{member.rank} in {turn}", limits[place]))
            except WorkerError as error:
                found[place].append(str(error))

    threads = [threading.Thread(target=meet, args=(place,)) for place in range(len(limits))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found, others.asked


def test_workers_of_one_task_meet_those_of_others_in_the_order_of_ranks():
    found, asked = met([20, 30], rounds=3)
    assert found[0] == found[1]
    assert found[0] == [["a", "b", f"2 in {n}", f"3 in {n}", "e", "f"] for n in range(3)]
    assert asked == [(f'["2 in {n}", "3 in {n}"]', 30) for n in range(3)]


def test_tasks_that_do_not_come_are_told_to_all():
    found, _ = met([60, 60])
    assert found == [["rank 1: of 3 workers not all were there within 60 s"]] * 2


def test_a_worker_of_the_own_task_that_does_not_come_is_told():
    found, asked = met([0.2])
    assert found[0] == ["task 1: of its 2 workers not all were there within 0.2 s"] and not asked


class Alone:
    """A rendezvous of one task."""

    rank, size = 0, 1

    def all_gather(self, text, timeout):
        return [text]


def on_two(compute):
    """Five blocks for two workers, with what they write down."""
    if not available():
        pytest.skip("no g++ to run the kernels of cuda on the host")
    items = iter([(number, f"block {number}") for number in range(5)])
    try:
        run_on_gpus("cuda", compute, items, Alone(), Team.of([[0, 3], [1, 2, 4]], 2))
    finally:  # who is told of the end first, a thread or this one, is open
        until(lambda: not multiprocessing.active_children())


def test_each_worker_has_a_process_a_gpu_and_its_items(tmp_path):
    on_two(partial(elsewhere.note, HOST, str(tmp_path)))
    both = ["0 of 2", "1 of 2"]
    assert elsewhere.noted(tmp_path) == {
        "0": ["the host (GPU-0)", both, [0, 3]],
        "1": ["the host (GPU-1)", both, [1, 2, 4]],
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
