"""Workers that stay for a whole fit: their inputs, and the reports of their end."""

import json
import re
import secrets
import shutil
import threading
from functools import partial
from pathlib import Path

import psutil
import pytest

from sparkdl.errors import (
    ConfigError,
    DataError,
    LostRecords,
    PeerError,
    ShapeError,
    WorkerError,
)
from sparkdl.spark import SparkWorkers
from sparkdl.spark.jobs import waiting
from sparkdl.spark.jobs.command_size import OPTION
from sparkdl.spark.jobs.slots import slots
from sparkdl.spark.launch.team import Team
from sparkdl.spark.launch.worker_stage import StageSettings, WorkerStage
from sparkdl.spark.records import blocks as blocks_module
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark import staying
from tests.spark.jobs.test_command_size import threshold
from tests.spark.networks import arrays, plain
from tests.spark.slow import executor_of
from tests.spark.test_traces import paths_below, read
from tests.support.held_slots import held_slots, impatient_jobs
from tests.support.waiting import gone, until

RECORDS, SIZE = 62, 6
DYNAMIC = "spark.dynamicAllocation.enabled"
OPTIONS = ParameterAveraging(seed=3)


@pytest.fixture(scope="module")
def workers(spark):
    return SparkWorkers(spark.sparkContext, 2)


def load(workers):
    return workers.load(SparkRecords(arrays(RECORDS)), schema_of(plain()), SIZE, OPTIONS)


@pytest.fixture(scope="module")
def blocks(workers):
    made = load(workers)
    yield made
    made.close()


@pytest.fixture
def launch(workers, blocks, tmp_path):
    """Launches a task in two workers; workers still running at the end of a test are stopped."""
    started = []

    def of(task, shares=None, **options):
        shares = shares or [range(0, len(blocks.sizes), 2), range(1, len(blocks.sizes), 2)]
        started.append(workers.launch(task, blocks, shares, str(tmp_path), **options))
        return started[-1]

    yield of
    for launched in started:
        launched.stop()


@pytest.fixture(params=[True, False], ids=["barrier", "ordinary stage"])
def is_barrier(request, sc):
    """Makes launches barrier stages, or ordinary stages as under dynamic allocation."""
    sc._conf.set(DYNAMIC, str(not request.param).lower())
    yield request.param
    sc._conf.set(DYNAMIC, "false")


def ended(launched):
    """Waits for a launch to end; returns its error or None."""
    until(lambda: launched.is_finished() or launched.error() is not None)
    return launched.error()


def processes(launched, folder):
    """Waits for both workers; returns their processes."""
    until(lambda: launched.error() or {"0", "1"} <= {path.name for path in folder.iterdir()})
    assert launched.error() is None
    return [psutil.Process(int(Path(folder, rank).read_text())) for rank in "01"]


WAYS = {"from folders": (0, True), "from folders again": (1, True), "by a shuffle": (0, False)}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def launches(request, monkeypatch):
    """The number of earlier launches on the blocks; also sets whether executors share a host."""
    count, one_host = request.param
    monkeypatch.setattr(blocks_module, "executors_share_host", lambda sc: one_host)
    return count


@pytest.mark.parametrize("judged", [None, 45])
def test_each_takes_its_share(judged, launches, workers, tmp_path, sc):
    blocks = load(workers)
    blocks.launches = launches
    shares = [[5, 0, *range(6, len(blocks.sizes))], [], [1, 4, 3, 2]][:: 2 if judged else 1][:2]
    shares[1] = sorted(set(range(len(blocks.sizes))) - set(shares[0]))
    on = judged and SparkRecords(arrays(judged, records_per_split=10)).batches(
        sc, schema_of(plain())
    )
    launched = workers.launch(staying.take, blocks, shares, str(tmp_path), validation=on)
    assert ended(launched) is None and launched.is_finished()
    found = [json.loads(Path(tmp_path, rank).read_text()) for rank in "01"]
    for share, own in zip(shares, found):
        assert {number for number, _ in own["blocks"]} == set(share)
    for number, size in enumerate(blocks.sizes):
        pieces = [ids for own in found for block, ids in own["blocks"] if block == number]
        assert sum(map(len, pieces)) == size
    ids = [n for own in found for _, block in own["blocks"] for n in block]
    assert len(ids) == len(set(ids)) == RECORDS
    if judged is None:
        assert [own["judged"] for own in found] == [None, None]
    else:
        assert [[len(ids) for ids in own["judged"]] for own in found] == [[10, 10, 5], [10, 10]]
        assert all(own["judged"] == sorted(own["judged"]) for own in found)
    launched.stop()
    launched.stop()
    blocks.close()


FAILURES = [
    (staying.refuse, DataError, "^record 7: features must be finite,\nnot nan$"),
    (staying.misfit, ShapeError, r"^features must be \(6,\), got \(5,\)$"),
    (staying.miss, PeerError, "^rank 0 on left: silent for 5 s$"),
    (staying.divide, WorkerError, "^worker 1: ZeroDivisionError: division by zero$"),
    (staying.die, WorkerError, r"^worker 1: Python worker exited unexpectedly \(crashed\)\.?$"),
    (staying.judge_first, WorkerError, "^batches for validation come last: take all blocks"),
]


@pytest.mark.parametrize("task, kind, message", FAILURES, ids=lambda v: getattr(v, "__name__", ""))
def test_an_error_comes_as_it_is_and_a_loss_names_the_worker(
    task, kind, message, launch, sc, is_barrier
):
    batches = SparkRecords(arrays(20)).batches(sc, schema_of(plain()))
    launched = launch(task, validation=batches)
    error = ended(launched)
    assert isinstance(error, kind) and re.search(message, str(error))
    assert not launched.is_finished()


def test_an_error_that_is_none_of_ours_brings_its_traceback(launch):
    [note] = ended(launch(staying.divide)).__notes__
    assert note.startswith("Traceback") and "in divide" in note


def test_bad_records_to_evaluate_on_are_told(launch, sc):
    rows = sc.parallelize([([0.0] * 6, 1), ([0.0] * 5, 1)], 2)
    batches = SparkRecords(rows).batches(sc, schema_of(plain()))
    with pytest.raises(DataError, match="partition 1"):
        raise ended(launch(staying.take, validation=batches))


@pytest.mark.parametrize("task", [staying.wait, staying.hold_out])
def test_stopped_workers_are_gone_and_their_slots_free(task, launch, workers, tmp_path, sc):
    launched = launch(task)
    running = processes(launched, tmp_path)
    launched.stop()
    until(lambda: all(map(gone, running)))  # Spark's daemon kills them after the task has ended
    assert slots(sc) == 2
    assert sc.parallelize([1, 2], 2).sum() == 3


def test_blocks_that_are_gone_before_a_shuffle_are_read_again(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module, "executors_share_host", lambda sc: False)
    blocks = load(workers)
    shares = [range(rank, len(blocks.sizes), 2) for rank in range(2)]
    for stored in blocks.store.partitions:
        shutil.rmtree(stored.folder)
    arguments = staying.take, blocks, shares, str(tmp_path)
    with pytest.raises(LostRecords, match="must hold records"):
        workers.launch(*arguments)
    launched = workers.launch(*arguments)
    assert ended(launched) is None
    launched.stop()
    blocks.close()


def test_a_lost_executor_ends_all_workers_and_another_takes_its_place(
    launch, workers, tmp_path, sc, is_barrier
):
    launched = launch(staying.wait)
    running = processes(launched, tmp_path)
    assert psutil.Process() in running[1].parents()  # a worker of this session's Spark
    executor_of(running[1]).kill()
    error = ended(launched)
    assert type(error) is WorkerError
    assert str(error).startswith("worker 1: ExecutorLostFailure")
    assert str(error).endswith("exited with code 137")
    launched.stop()
    until(lambda: all(map(gone, running)))  # Spark's daemon ends the workers of the lost executor
    assert slots(sc) == 2
    for path in tmp_path.iterdir():
        path.unlink()
    assert ended(launch(staying.take)) is None  # lost blocks are made again


def test_workers_beyond_the_slots_share_tasks(launches, sc, tmp_path):
    workers = SparkWorkers(sc, 5)
    blocks, evaluated = load(workers), SparkRecords(arrays(20)).batches(sc, schema_of(plain()))
    blocks.launches = launches
    shares = [range(rank, len(blocks.sizes), 5) for rank in range(5)]
    launched = workers.launch(staying.take, blocks, shares, str(tmp_path), validation=evaluated)
    assert ended(launched) is None and launched.is_finished()
    found = [json.loads(Path(tmp_path, str(rank)).read_text()) for rank in range(5)]
    assert [{n for n, _ in own["blocks"]} for own in found] == [set(share) for share in shares]
    ids = [n for own in found for _, block in own["blocks"] for n in block]
    assert len(ids) == len(set(ids)) == RECORDS
    assert sum(len(ids) for own in found for ids in own["judged"]) == 20
    launched.stop()
    blocks.close()


def stage(sc, task, folder, blocks=2):
    """A stage of two workers that get no blocks, although the team has `blocks` of them."""
    team = Team.of([range(0, blocks, 2), range(1, blocks, 2)], 1)
    items, each = sc.parallelize([], 2), StageSettings("cpu", team)
    return WorkerStage(sc, task, items, str(folder), False, each)


def test_the_secret_of_a_task_is_in_no_file_however_many_blocks_there_are(sc, tmp_path):
    secret = secrets.token_bytes(32)
    with threshold(sc, 20_000):
        assert ended(stage(sc, partial(staying.keep, secret), tmp_path, blocks=20_000)) is None
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}
    written = [read(path) for path in paths_below(sc._temp_dir) if path.is_file()]
    assert not any(secret in content for content in written)


def test_a_stage_whose_task_would_be_written_to_disks_does_not_start(sc, tmp_path):
    with threshold(sc, 1000), pytest.raises(ConfigError, match=f"{OPTION} must be at least"):
        raise ended(stage(sc, partial(staying.keep, b"secret"), tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_stage_that_lost_its_slots_before_it_began_is_lost(sc, tmp_path, monkeypatch):
    """It waits for the slot that another job holds, as it would for that of a lost executor."""
    monkeypatch.setattr(waiting, "concurrent_tasks", lambda sc, resources=None: 1)
    with impatient_jobs(sc, monkeypatch), held_slots(sc, 1):
        launched = stage(sc, staying.take, tmp_path)
        error = ended(launched)
        launched.stop()
    assert type(error) is WorkerError and "1 slot left" in str(error)
    assert not list(tmp_path.iterdir())


def test_what_cannot_travel_is_told(workers, blocks):
    launched = workers.launch(staying.take, blocks, [[0], [1]], threading.Lock())
    with pytest.raises(ConfigError, match="must travel to the executors"):
        raise ended(launched)
