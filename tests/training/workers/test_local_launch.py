"""Processes that stay until a task ends: their inputs, their final reports, and cleanup."""

import json
import os
import re
import time
from threading import Event, Thread, Timer

import psutil
import pytest

from sparkdl.errors import ConfigError, DataError, PeerError, ShapeError, WorkerError
from sparkdl.training.workers import local_launch
from sparkdl.training.workers.local import LocalWorkers
from tests.spark import staying
from tests.training.workers.test_local import blocks_of, still_works

LIMIT = 60.0


@pytest.fixture(scope="module")
def workers():
    with LocalWorkers(2) as workers:
        yield workers


@pytest.fixture
def launch(workers, tmp_path):
    """Launches a task; workers still running at the end of a test are stopped."""
    started = []

    def of(task, shares=((0, 2), (1,)), validation=None):
        blocks = blocks_of(workers)
        started.append(workers.launch(task, blocks, shares, str(tmp_path), validation))
        return started[-1]

    yield of
    for launched in started:
        launched.stop()


def ended(launched):
    deadline = time.monotonic() + LIMIT
    while not launched.is_finished() and launched.error() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return launched.error()


def found(folder):
    return [json.loads((folder / rank).read_text()) for rank in sorted(os.listdir(folder))]


def feeding(wait, give_up):
    """Returns LocalLaunchedWorkers whose processes are done and whose records are being sent."""
    launched = local_launch.LocalLaunchedWorkers.__new__(local_launch.LocalLaunchedWorkers)
    launched._left, launched._error, launched._stopped = {}, None, False
    launched._give_up = give_up
    launched._feeder = Thread(target=wait, args=(LIMIT,), daemon=True)
    launched._feeder.start()
    return launched


@pytest.mark.slow
def test_records_that_no_worker_takes_do_not_stop_the_end(monkeypatch, caplog):
    monkeypatch.setattr(local_launch, "FEEDING", 0.1)
    taken = Event()
    launched = feeding(taken.wait, lambda: Timer(0.02, taken.set).start())
    launched.stop()
    assert not launched._feeder.is_alive(), "the next fit gets these records"
    assert "records were still being sent 0.1 s after" in caplog.text
    assert "still reads" not in caplog.text


@pytest.mark.slow
def test_records_that_are_still_read_after_the_end_are_told(monkeypatch, caplog):
    monkeypatch.setattr(local_launch, "FEEDING", 0.1)
    read, given_up = Event(), []
    launched = feeding(read.wait, lambda: given_up.append(1))
    launched.stop()
    read.set()
    assert given_up == [1] and "a thread still reads records of the last fit" in caplog.text


@pytest.mark.parametrize("shares", [((0, 2), (1,)), ((), (2, 1, 0)), ((1, 0, 2),)], ids=str)
@pytest.mark.parametrize("judged", [None, 0, 3])
def test_each_takes_its_share(shares, judged, launch, workers, tmp_path):
    blocks = blocks_of(workers).blocks
    batches = None if judged is None else [blocks[0]] * judged
    launched = launch(staying.take, shares, batches)
    assert ended(launched) is None and launched.is_finished()
    told, size = found(tmp_path), len(shares)
    assert [[number for number, _ in each["blocks"]] for each in told] == list(map(list, shares))
    for each in told:
        assert all(ids == sorted(blocks[n].ids.tolist()) for n, ids in each["blocks"])
    taken = [None if each["judged"] is None else len(each["judged"]) for each in told]
    wanted = [None] if judged is None else [len(range(rank, judged, size)) for rank in range(size)]
    assert taken == wanted * (size if judged is None else 1)


def test_processes_are_used_again(launch, workers):
    started = [worker.process.pid for worker in workers._processes]
    for _ in range(2):
        launched = launch(staying.take)
        assert ended(launched) is None
        launched.stop()
        launched.stop()
    assert still_works(workers)
    assert not started or [worker.process.pid for worker in workers._processes] == started


ERRORS = {
    "one of ours": (staying.refuse, DataError, "^record 7: features must be finite,\nnot nan$"),
    "another of ours": (staying.misfit, ShapeError, r"^features must be \(6,\), got \(5,\)$"),
    "a peer": (staying.miss, PeerError, "^rank 0 on left: silent for 5 s$"),
    "another": (staying.divide, WorkerError, "^worker 1: ZeroDivisionError: division by zero$"),
    "a kill": (staying.die, WorkerError, r"^worker 1 \(process \d+\): ended with exit code -9"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_first_error_is_told_and_nobody_stays(name, launch, workers):
    task, kind, message = ERRORS[name]
    launched = launch(task)
    error = ended(launched)
    assert isinstance(error, kind) and re.search(message, str(error))
    processes = [psutil.Process(worker.process.pid) for worker in workers._processes[:1]]
    launched.stop()
    assert not any(process.is_running() for process in processes)
    assert launched.error() is error and not launched.is_finished()
    assert still_works(workers)


def test_why_a_worker_is_gone_counts_more_than_that_it_is(launch, workers):
    launched = launch(staying.outlive)
    first, second = workers._processes
    second.process.join(LIMIT)
    assert first.pipe.poll(LIMIT), "the other has said that its peer is gone"
    assert "worker 1" in str(launched.error()) and "exit code -9" in str(launched.error())


def test_stopping_ends_those_who_do_not_want_to(launch, workers, tmp_path):
    launched = launch(staying.hold_out)
    deadline = time.monotonic() + LIMIT
    while {"0", "1"} - set(os.listdir(tmp_path)):
        assert time.monotonic() < deadline and launched.error() is None
        time.sleep(0.02)
    pids = [int((tmp_path / rank).read_text()) for rank in "01"]
    launched.stop()
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_data_that_cannot_be_read_is_the_error(launch):
    def batches():
        raise DataError("record 3 is broken")
        yield

    assert str(ended(launch(staying.take, validation=batches()))) == "record 3 is broken"


def test_more_shares_than_workers_are_refused(launch, workers):
    with pytest.raises(ConfigError, match="there is room for 2 workers, got 3"):
        launch(staying.take, ((0,), (1,), (2,)))
    assert workers.room() == 2


def test_a_process_killed_before_is_an_error(launch, workers):
    assert still_works(workers)
    os.kill(workers._processes[1].process.pid, 9)
    workers._processes[1].process.join()
    try:
        error = ended(launch(staying.take))
    except WorkerError as caught:
        error = caught
    assert "worker 1" in str(error) and "exit code -9" in str(error)
