"""SparkWorkers give the bits of LocalWorkers; how they take, share and leave slots."""

from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from py4j.protocol import Py4JError

from sparkdl.commands.caffe import scoring
from sparkdl.data.batches.batch import Batch
from sparkdl.errors import DivergedError
from sparkdl.spark import SparkNetwork, SparkWorkers
from sparkdl.spark import workers as workers_module
from sparkdl.spark.inference import predictions
from sparkdl.spark.records import stored_partition
from sparkdl.spark.records.records import SparkRecords, until_failure
from sparkdl.thread_start import NoThread
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.workers.base import MORE_SLOTS
from sparkdl.training.workers.local import LocalWorkers
from sparkdl.tune import vote_tasks
from tests.spark.networks import arrays, data, images, plain, rich
from tests.spark.records.test_executor_store import nothing_is_left
from tests.training.models import assert_equal


def averaging(**options):
    small = {"batch_size_per_worker": 3, "averaging_frequency": 2, "workers": 2}
    return ParameterAveraging(aggregation="driver", **small | options)


MASTERS = {
    "averaging, one worker": (averaging(workers=1), rich),
    "averaging, two workers": (averaging(), rich),
    "averaging, images": (averaging(), images),
    "averaging, slots anew": (averaging(average_optimizer_state=False), images),
    "averaging, five workers, flat": (averaging(workers=5, aggregation_depth=1), rich),
    "averaging, five workers, a tree": (averaging(workers=5, aggregation_depth=2), rich),
    "averaging, seven workers, a deep tree": (averaging(workers=7, aggregation_depth=3), rich),
    "averaging, records scattered": (averaging(repartition="always", seed=11), rich),
    "averaging, records stay": (averaging(repartition="never", workers=3, prefetch=0), plain),
}


@pytest.fixture(params=MASTERS)
def master_and_conf(request):
    master, network = MASTERS[request.param]
    return master, network()


def fit(master, conf, workers, data):
    network = Network(conf)
    network.fit(data, epochs=2, master=master, workers=workers)
    return network.state


@pytest.fixture(scope="module")
def local():
    """Returns LocalWorkers by number, with one thread as in Spark's tasks, for identical sums."""
    made = {}

    def of(size):
        return made.setdefault(size, LocalWorkers(size, threads=1))

    yield of
    for workers in made.values():
        workers.close()


@pytest.mark.parametrize("error", [NoThread("no room"), MemoryError("no room")])
def test_a_process_without_room_is_left_to_spark(error):
    with pytest.raises(type(error), match="no room"):
        list(contribute_with(error))


def refuse(*given):
    raise NoThread("process 5: no room")


PARTS = {  # of tasks whose work needs a thread
    "reading": lambda broken: until_failure(broken),
    "storing": lambda broken: stored_partition.store_batches("key", None, 0, broken, write=refuse),
    "evaluation": lambda broken: predictions.evaluate_partition(None, Mock(), 0, broken),
    "votes": lambda broken: vote_tasks.evaluate_votes(
        SimpleNamespace(kept_value=[]), None, None, 0, broken
    ),
    "scores of Caffe's net": lambda broken: scoring.score(None, None, 0, broken),
}


@pytest.mark.parametrize("name", PARTS)
def test_spark_runs_the_task_of_a_process_without_threads_again(name, monkeypatch):
    for module in (predictions, vote_tasks, scoring):
        loads = "load_members" if module is vote_tasks else "load_replica"
        monkeypatch.setattr(module, loads, refuse)
    monkeypatch.setattr(stored_partition, "partition_folder", lambda *given: "")
    monkeypatch.setattr(stored_partition, "TaskContext", Mock())
    with pytest.raises(NoThread, match="process 5: no room"):
        list(PARTS[name](map(refuse, [0])))


def test_an_error_of_the_training_is_the_result():
    [(rank, result)] = contribute_with(DivergedError("training has diverged"))
    assert (rank, str(result.error)) == (5, "training has diverged")


def contribute_with(error):
    """Returns what a task of a round yields whose training raises an error."""

    def task(*given):
        raise error

    piece = Batch(columns={"labels": np.zeros(2, int)}, ids=np.arange(2, dtype=np.uint64))
    return workers_module.contribute(
        task, SimpleNamespace(value=None), [0], [5], 0, iter([(0, piece)])
    )


def test_both_kinds_of_workers_give_the_same_bits(master_and_conf, local, sc):
    master, conf = master_and_conf
    data = arrays(n=62, records_per_split=25)
    expected = fit(master, conf, local(master.workers), data)
    net = SparkNetwork(sc, conf, master)
    history = net.fit(data, epochs=2)
    assert_equal(net.network.state, expected)
    assert net.network.state.epoch == 2
    assert [epoch.examples for epoch in history.epochs] == [62, 62]
    assert not np.array_equal(expected.params, Network(conf).state.params)


def test_a_seed_gives_the_same_bits_twice(sc):
    one, two, other = (
        SparkNetwork(sc, rich(), averaging(workers=3, seed=seed)) for seed in (5, 5, 6)
    )
    for net in (one, two, other):
        net.fit(arrays(), epochs=2)
    assert_equal(one.network.state, two.network.state)
    assert not np.array_equal(one.network.state.params, other.network.state.params)


TASKS = [
    # workers, slots, GPUs of a task, workers of a task
    (8, 1, 0, 8),
    (8, 2, 0, 4),
    (8, 3, 0, 3),
    (8, 5, 0, 2),
    (8, 8, 0, 1),
    (2, 8, 0, 1),
    (2, 2, 2, 2),
    (8, 2, 2, 4),
]


@pytest.mark.parametrize("count, slots, gpus, each", TASKS)
def test_tasks_have_as_many_workers_as_slots_are_too_few(count, slots, gpus, each, monkeypatch):
    awaited, requested = [], []
    monkeypatch.setattr(workers_module, "slots", lambda sc, *rest: awaited.append(rest) or slots)
    monkeypatch.setattr(workers_module, "gpus_of_a_task", lambda sc, resources: gpus)
    monkeypatch.setattr(workers_module, "request_slots", lambda sc, *rest: requested.append(rest))
    workers = SparkWorkers(None, count)
    assert workers.workers_per_task(count) == each
    enough = -(-count // max(1, gpus))
    assert requested == [(enough, None)] and awaited == [(1, None, enough)]
    assert workers.room() == count  # losses do not lower the number of workers
    workers.workers_per_task(count)  # after a loss they use the remaining slots, and move later
    assert requested == [(enough, None)] * 2 and awaited[1:] == [(1, None, 1)]


# Workers, slots at the launch, slots now, GPUs of a task, whether spreading gives fewer per task.
SLOTS = [
    (4, 1, 2, 0, True),
    (4, 2, 3, 0, False),
    (4, 3, 4, 0, True),
    (4, 4, 8, 0, False),
    (4, 2, 1, 0, False),
    (4, 2, 0, 0, False),
    (8, 2, 4, 2, True),
    (8, 4, 9, 2, False),
]


@pytest.mark.parametrize("count, slots, now, gpus, spreads", SLOTS)
def test_workers_spread_where_tasks_would_have_fewer(count, slots, now, gpus, spreads, monkeypatch):
    monkeypatch.setattr(workers_module, "concurrent_tasks", lambda sc, resources: now)
    workers, _ = launch(monkeypatch, count, slots, gpus)
    assert SparkWorkers(workers.sc, count).reason_to_move() is None  # before anything runs
    assert workers.reason_to_move() == (MORE_SLOTS if spreads else None)
    blocks = SimpleNamespace(launches=1)
    if spreads:
        workers.move(MORE_SLOTS)
    workers.launch(None, blocks, [[number] for number in range(count)], None)
    assert blocks.launches == 1 + (not spreads), "who spreads has lost nobody"
    now_each = -(-count // max(1, now)) if spreads else -(-count // slots)
    assert workers._team.workers_per_task == max(1, gpus, now_each)


def test_a_question_that_spark_cannot_answer_ends_no_fit(monkeypatch):
    def ask(sc, resources):
        raise Py4JError("the JVM is busy")

    workers, _ = launch(monkeypatch, 4, 2, 0)
    monkeypatch.setattr(workers_module, "concurrent_tasks", ask)
    assert workers.reason_to_move() is None


def launch(monkeypatch, count, slots, gpus, is_dynamic=False):
    """Launches `count` workers on a stub cluster; returns SparkWorkers and stage options."""
    stages = []
    monkeypatch.setattr(workers_module, "slots", lambda sc, *rest: slots)
    monkeypatch.setattr(workers_module, "gpus_of_a_task", lambda sc, resources: gpus)
    monkeypatch.setattr(workers_module, "dynamic", lambda sc: is_dynamic)
    monkeypatch.setattr(workers_module, "WorkerStage", lambda *parts, **kw: stages.append(kw))
    monkeypatch.setattr(workers_module, "live_executors", lambda sc: [])
    monkeypatch.setattr(workers_module, "leaving_executors", lambda sc, **options: set())
    for name in ("request_slots", "check_launch", "deal_blocks"):
        monkeypatch.setattr(workers_module, name, lambda *parts, **options: None)
    workers = SparkWorkers(SimpleNamespace(_conf={}), count)
    workers.launch(None, SimpleNamespace(launches=0), [[number] for number in range(count)], None)
    return workers, stages[0]


# Slots now (2 at the launch), busy executors about to leave, those already left, expected reason.
LEAVERS = {
    "nobody": (2, set(), set(), None),
    "one": (1, {"0"}, set(), "decommissioned: executor 0"),
    "one whose replacement has come": (2, {"0"}, set(), "decommissioned: executor 0"),
    "two": (1, {"7", "5"}, {"4"}, "decommissioned: executor 5, 7"),
    "one that was left before": (1, {"0"}, {"0"}, None),
    "all": (0, {"0", "1"}, set(), None),
}


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("now, leaving, left, reason", LEAVERS.values(), ids=LEAVERS)
def test_workers_leave_executors_that_will_go(now, leaving, left, reason, enabled, monkeypatch):
    monkeypatch.setattr(workers_module, "decommissions", lambda sc: enabled)
    monkeypatch.setattr(workers_module, "concurrent_tasks", lambda sc, resources: now)
    workers, _ = launch(monkeypatch, 2, 2, 0)
    workers._leaving = left
    monkeypatch.setattr(workers_module, "leaving_executors", lambda sc, only_busy: leaving)
    assert workers.reason_to_move() == (reason if enabled else None)
    assert workers.reason_to_move() is None, "nobody looks again within a second"


class CountedBlocks:
    """Counts how often its records are to be read again."""

    launches = readings = 0

    def read_again(self):
        self.readings += 1


# Executors and leaving ones, at two launches; reason of the second; launches counted; readings.
MOVES = {
    "more slots": ("01", "", "012", "", MORE_SLOTS, 1, 0),
    "more slots, a holder gone": ("01", "", "12", "", MORE_SLOTS, 2, 0),
    "more slots, a holder will go": ("01", "", "0123", "0", MORE_SLOTS, 2, 1),
    "one will go": ("01", "", "01", "0", "decommissioned: executor 0", 2, 1),
    "one was to go at first": ("01", "0", "1", "", "decommissioned: executor 0", 3, 1),
    "a loss": ("01", "", "1", "", None, 2, 0),
}


@pytest.mark.parametrize(
    "before, left, after, leaving, reason, count, readings", MOVES.values(), ids=MOVES
)
def test_records_are_read_again_where_their_holders_go(
    before, left, after, leaving, reason, count, readings, monkeypatch
):
    workers, _ = launch(monkeypatch, 2, 2, 0)
    workers._leaving, blocks = set(), CountedBlocks()
    monkeypatch.setattr(workers_module, "concurrent_tasks", lambda sc, resources: 2)
    for there, gone in ((before, left), (after, leaving)):
        live = [(name, "host") for name in there]
        monkeypatch.setattr(workers_module, "live_executors", lambda sc: live)  # noqa: B023
        monkeypatch.setattr(workers_module, "leaving_executors", lambda sc: set(gone))  # noqa: B023
        workers.launch(None, blocks, [[0], [1]], None)
        if reason:
            workers.move(reason)
    assert (blocks.launches, blocks.readings) == (count, readings)


# Workers, slots, GPUs of a task, slots requested from Spark beyond those.
WISHES = [(4, 4, 0, 0), (4, 2, 0, 2), (5, 3, 0, 2), (8, 2, 2, 2), (8, 4, 2, 0)]


@pytest.mark.parametrize("is_dynamic", [True, False])
@pytest.mark.parametrize("count, slots, gpus, missing", WISHES)
def test_spark_is_asked_for_what_is_missing(count, slots, gpus, missing, is_dynamic, monkeypatch):
    _, options = launch(monkeypatch, count, slots, gpus, is_dynamic)
    assert options["missing"] == (missing if is_dynamic else 0)


def test_workers_are_what_the_cluster_runs_at_once(sc):
    assert SparkWorkers(sc).size == 2
    assert SparkWorkers(sc, 5).size == 5


@contextmanager
def interrupted_job(*_):
    """A double of `job`: the Ctrl-C that came while it ran is raised at its end."""
    yield
    raise KeyboardInterrupt


def test_a_ctrl_c_at_the_end_of_the_reading_leaves_no_records(sc, monkeypatch):
    monkeypatch.setattr(workers_module, "job", interrupted_job)
    records = SparkRecords(
        sc.parallelize([(x.tolist(), int(y)) for x, y in zip(*data(20), strict=True)], 2)
    )
    with pytest.raises(KeyboardInterrupt):
        SparkWorkers(sc, 2).load(records, schema_of(plain()), 4, averaging())
    assert nothing_is_left(sc)
