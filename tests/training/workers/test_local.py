"""Workers as processes: their results, and that they neither hang nor stay behind."""

import multiprocessing
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.records.schema import Schema
from sparkdl.errors import ConfigError, DataError, NoRecords, ShapeError, WorkerError
from sparkdl.training.workers import local
from sparkdl.training.workers.fork_server.process_end import LIMIT
from sparkdl.training.workers.local import LocalWorkers
from tests.support import processes
from tests.training import tasks

SCHEMA = Schema(features=(1,), labels="class", label_size=2)
OPTIONS = SimpleNamespace(repartition="uneven", seed=3)


def records(count, **options):
    return Arrays(np.arange(count)[:, None], np.arange(count) % 2, **options)


def blocks_of(workers, count=6, size=2, **options):
    return workers.load(records(count, **options), SCHEMA, size, OPTIONS)


def children():
    return {process.pid for process in processes.children()}


@pytest.fixture(scope="module")
def three():
    with LocalWorkers(3) as workers:
        yield workers


def pids(workers):
    return [worker.process.pid for worker in workers._processes]


def still_works(workers):
    blocks = blocks_of(workers)
    result = workers.run_round(tasks.block_numbers, blocks, [2, 1], None, 2)
    return result.vector[:2].tolist() == [3, 4] and result.examples == 4


def test_each_chosen_block_goes_to_a_process_of_its_own(three):
    blocks = blocks_of(three)
    assert sorted(blocks.sizes) == [2, 2, 2]
    each = [three.run_round(tasks.block_numbers, blocks, [i], None, 2).vector for i in range(3)]
    assert [int(v[0]) for v in each] == [0, 1, 2]
    together = three.run_round(tasks.block_numbers, blocks, [2, 0, 1], None, 2)
    assert together.vector[0] == 3 and together.examples == 6
    assert together.vector[2] == np.float32(sum(pids(three))) and len(set(pids(three))) == 3


@pytest.mark.parametrize("repartition", ["always", "uneven", "never"])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_all_records_are_in_the_blocks_once(three, count, repartition):
    options = SimpleNamespace(repartition=repartition, seed=None)
    blocks = three.load(records(count, records_per_split=3), SCHEMA, 4, options)
    ids = np.concatenate([block.ids for block in blocks.blocks])
    features = np.concatenate([block.features for block in blocks.blocks])
    assert sorted(features[:, 0]) == list(range(count)) and len(set(ids.tolist())) == count
    assert len(blocks.sizes) >= min(count, 2)
    seen = 0
    for start in range(0, len(blocks.sizes), 3):
        chosen = list(range(start, min(start + 3, len(blocks.sizes))))
        seen = seen + three.run_round(tasks.record_ids, blocks, chosen, count, 2).vector
    np.testing.assert_array_equal(seen, np.ones(count))


def test_blocks_that_are_closed_are_gone(three):
    blocks = blocks_of(three)
    blocks.close()
    assert blocks.sizes == []


def test_without_records_there_is_nothing_to_do(three):
    with pytest.raises(NoRecords, match="there are no records to train on"):
        blocks_of(three, count=0)


def test_a_record_that_cannot_be_used_is_named(three):
    data = Arrays(np.array([[1.0], [2.0], [np.nan]]), np.zeros(3, int), records_per_split=2)
    with pytest.raises(DataError, match="partition 1, record 0: features must be finite, got nan"):
        three.load(data, SCHEMA, 2, OPTIONS)


@pytest.mark.parametrize("size", [0, -1, 1.5, None, True])
def test_sizes_that_cannot_be_are_refused(size):
    with pytest.raises(ConfigError, match="LocalWorkers.size must be an integer >= 1, got"):
        LocalWorkers(size)


def test_a_size_may_be_numpys():
    workers = LocalWorkers(np.int64(3))
    assert workers.size == 3 and type(workers.size) is int


def test_no_block_is_dropped_where_there_are_too_few_workers(three):
    with pytest.raises(ValueError, match="zip"):
        three.run_round(tasks.block_numbers, blocks_of(three, 8), [0, 1, 2, 3], None, 2)


def test_a_data_error_of_a_task_comes_through_as_it_is(three):
    with pytest.raises(DataError, match="^partition 1, record 17: features must be finite, got n"):
        three.run_round(tasks.no_data, blocks_of(three), [0, 1], None, 2)


def test_a_shape_error_of_a_task_is_one_here(three):
    with pytest.raises(ShapeError, match="^in block 1$"):
        three.run_round(tasks.raise_in_block, blocks_of(three), [0, 1], ((1,), ShapeError), 2)


def test_an_error_of_a_class_of_the_user_is_of_the_nearest_of_ours(three):
    with pytest.raises(DataError, match="^in block 1, with a lock\na note$") as caught:
        three.run_round(tasks.raise_in_block, blocks_of(three), [0, 1], ((1,), tasks.Locked), 2)
    assert type(caught.value) is DataError
    assert caught.value.__notes__ == ["a note"]


def test_any_other_error_of_a_task_has_its_traceback_as_a_note(three):
    with pytest.raises(WorkerError) as caught:
        three.run_round(tasks.raise_in_block, blocks_of(three), [0, 1], ((1,), KeyError), 2)
    [note] = caught.value.__notes__
    assert note.startswith("Traceback") and "in raise_in_block" in note


@pytest.mark.parametrize("error", [ValueError, OSError, EOFError, KeyError])
def test_any_other_error_of_a_task_says_which_block_and_workers_go_on(three, error):
    started = pids(three)
    for chosen, first in [([0, 1, 2], 1), ([2, 1, 0], 2)]:
        message = f"^block {first}: {error.__name__}: .?in block {first}"
        with pytest.raises(WorkerError, match=message):
            three.run_round(tasks.raise_in_block, blocks_of(three), chosen, ((1, 2), error), 2)
    assert still_works(three) and pids(three) == started


def test_a_killed_process_is_named_at_once(three):
    blocks, (_, pid, _) = blocks_of(three), pids(three)
    with pytest.raises(WorkerError, match=rf"^worker 1 \(process {pid}\): ended with exit code -9"):
        three.run_round(tasks.kill_in_block, blocks, [0, 2], 2, 2)
    assert not set(pids(three)) & children()
    assert still_works(three)


def test_a_process_that_does_not_end_is_named_and_waited_for_no_longer(caplog):
    """Such as one stuck in a driver or a file system, which no signal ends."""
    limits, worker = [], local.WorkerProcess.__new__(local.WorkerProcess)
    worker.rank, worker.pipe = 2, SimpleNamespace(close=list)
    worker.process = SimpleNamespace(
        pid=42, kill=list, join=lambda limit=None: limits.append(limit), is_alive=lambda: True
    )
    worker.kill()
    assert limits == [LIMIT]
    assert "worker 2 (process 42): has not ended 30 s after it was killed" in caplog.text


@pytest.mark.slow
def test_closing_leaves_no_process_behind_and_workers_start_again(monkeypatch):
    monkeypatch.setattr(local, "GRACE", 60.0)
    before = children()
    workers = LocalWorkers(2)
    assert still_works(workers)
    started, made = pids(workers), [worker.process for worker in workers._processes]
    assert set(started) <= children() - before
    workers.close()
    assert [p.exitcode for p in made] == [0, 0], "idle processes end when they are told"
    assert not set(started) & children()
    assert not any(p.pid in started for p in multiprocessing.active_children())
    workers.close()
    assert still_works(workers)
    workers.close()
    assert not children() - before - resource_trackers()


def resource_trackers():
    """multiprocessing's own helper, which lives as long as this process."""
    from multiprocessing import resource_tracker

    return {resource_tracker._resource_tracker._pid}


@pytest.mark.slow
def test_processes_may_be_spawned(spawned):
    with LocalWorkers(2) as workers:
        assert still_works(workers)
        assert {psutil.Process(pid).ppid() for pid in pids(workers)} == {os.getpid()}


@pytest.mark.slow
def test_workers_that_were_forgotten_end_with_their_owner(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.training.workers.test_local import LocalWorkers, still_works, pids\n"
        "if __name__ == '__main__':\n"
        "    workers = LocalWorkers(2)\n"
        "    assert still_works(workers)\n"
        "    print(*pids(workers))\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == "" and done.returncode == 0
    assert len(done.stdout.split()) == 2
    assert not any(psutil.pid_exists(int(pid)) for pid in done.stdout.split())


def test_threads_are_shared_out():
    assert LocalWorkers(2, threads=3).threads == 3
    assert LocalWorkers(1000).threads == 1
