"""Worker processes that end, hang or cannot read: others neither wait nor take over their work."""

from traceback import walk_tb

import numpy as np
import psutil
import pytest

from sparkdl.errors import WorkerError
from sparkdl.training.workers.local import LocalWorkers
from tests.training import tasks
from tests.training.workers.test_local import blocks_of, children, pids, still_works


@pytest.fixture(scope="module")
def fragile():
    with LocalWorkers(2) as workers:
        yield workers


@pytest.fixture
def two(fragile):
    """Two workers that a test may break; they run before it starts to measure time."""
    assert still_works(fragile)
    return fragile


def test_a_process_that_was_killed_between_rounds_is_named(two):
    worker = two._processes[0]
    worker.process.kill()
    worker.process.join()
    with pytest.raises(WorkerError, match=rf"^worker 0 \(process {worker.process.pid}\): ended"):
        two.run_round(tasks.block_numbers, blocks_of(two), [0, 1], None, 2)
    assert still_works(two)


def test_the_error_of_a_job_that_was_not_sent_keeps_no_copy_of_it(two):
    """Its copy would end with a warning, too, if the error ends in a cycle: Python 3.13 and on."""
    worker = two._processes[0]
    worker.process.kill()
    worker.process.join()
    with pytest.raises(WorkerError, match="worker 0") as caught:
        two.run_round(tasks.block_numbers, blocks_of(two), [0, 1], None, 2)
    frames = [frame for frame, _ in walk_tb(caught.value.__context__.__traceback__)]
    values = [value for frame in frames for value in frame.f_locals.values()]
    assert not [value for value in values if isinstance(value, (bytes, memoryview))]


def test_a_process_that_ends_itself_is_named(two):
    with pytest.raises(WorkerError, match="worker 0 .*: ended with exit code 3 in the middle"):
        two.run_round(tasks.exit_in_block, blocks_of(two), [0, 1], None, 2)


HANGS = {"sleeps": (tasks.sleep_in_block, (0, 300)), "is stopped": (tasks.stop_in_block, 0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", HANGS)
def test_a_process_that_hangs_is_named_when_its_time_is_over(name, two):
    task, shared = HANGS[name]
    started = pids(two)
    two._processes[0].timeout = 0.5
    message = rf"^worker 0 \(process {started[0]}\): no result of a round within 0.5 s"
    with pytest.raises(WorkerError, match=message):
        two.run_round(task, blocks_of(two), [0, 1], shared, 2)
    assert not set(started) & children()
    assert still_works(two), "the slow worker's late result must not be taken for a new one"


@pytest.mark.slow
def test_a_process_that_does_not_read_is_no_hang_either(two):
    """A pipe holds some kilobytes; the rest waits for a reader."""
    psutil.Process(pids(two)[0]).suspend()
    two._processes[0].timeout = 0.5
    with pytest.raises(WorkerError, match="worker 0 .*: did not take its part .* within 0.5 s"):
        two.run_round(tasks.block_numbers, blocks_of(two), [0, 1], np.zeros(10**6), 2)


def test_a_task_that_cannot_be_imported_is_an_error(two):
    with pytest.raises(WorkerError, match="a job cannot be read: ZeroDivisionError"):
        two.run_round(Unreadable(), blocks_of(two), [0, 1], None, 2)
    assert still_works(two)


class Unreadable:
    """Can be pickled but not unpickled."""

    def __reduce__(self):
        return divmod, (1, 0)
