"""Tasks that take a GPU compute in a spawned process; here the device is the host's double."""

import multiprocessing
import os
import re
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import psutil
import pytest
from pyspark import TaskContext

from sparkdl.errors import SparkdlError, UnsupportedError, WorkerError
from sparkdl.nn.execution import device
from sparkdl.spark.gpu_process import dispatch as module
from sparkdl.spark.gpu_process.dispatch import gpus, run_on_device, run_partition_on_device, turn
from sparkdl.spark.jobs import shared_value
from sparkdl.spark.jobs.shared_value import SharedValue
from sparkdl.spark.launch.team import WorkerRank
from tests.spark import elsewhere
from tests.support.cuda.on_host import require_compiler
from tests.support.cuda.spawned import OnHost
from tests.support.waiting import gone, until

HOST = OnHost()


class Context:
    """A double of TaskContext."""

    def __init__(self, addresses=(), partition=0):
        self.addresses, self.partition = addresses, partition

    def resources(self):
        return {"gpu": SimpleNamespace(addresses=list(self.addresses))} if self.addresses else {}

    def partitionId(self):
        return self.partition


class BarrierContext(Context):
    """A double of BarrierTaskContext for a stage on these hosts."""

    def __init__(self, hosts, partition):
        super().__init__((), partition)
        self.hosts = hosts

    def getTaskInfos(self):
        return [SimpleNamespace(address=f"{host}:{4000 + n}") for n, host in enumerate(self.hosts)]


@pytest.fixture(autouse=True)
def context(monkeypatch):
    """Returns a function that makes this process a task, on a host that may have a GPU."""

    def of(found):
        monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: found))

    of(Context())
    monkeypatch.setattr(module, "can_reach_gpu", lambda: True)
    return of


@pytest.fixture(scope="module", autouse=True)
def no_process_left():
    require_compiler()
    yield
    module.end_idle()
    assert not multiprocessing.active_children()


def on_gpu(compute, items=(), place=None):
    return list(run_on_device("cuda", compute, iter(items), place))


def test_another_process_gives_what_this_one_would():
    compute = partial(elsewhere.doubled, HOST)
    here, there = (list(run_on_device(name, compute, iter("abc"))) for name in ("cpu", "cuda"))
    assert [result for _, result in here] == ["a", "aa", "b", "bb", "c", "cc", "end"]
    assert [result for _, result in there] == [result for _, result in here]
    processes = {pid for pid, _ in here}, {pid for pid, _ in there}
    assert processes[0] == {os.getpid()} and len(processes[1]) == 1 != processes[0] & processes[1]
    assert {pid for pid, _ in on_gpu(compute, "d")} == processes[1]  # the process was kept


def test_two_at_once_are_two_processes():
    compute = partial(elsewhere.doubled, HOST)
    one, other = (run_on_device("cuda", compute, iter("ab")) for _ in "12")
    pairs = list(zip(one, other, strict=True))
    assert [found for (_, found), _ in pairs] == ["a", "aa", "b", "bb", "end"]
    assert all(a[0] != b[0] and a[1] == b[1] for a, b in pairs)


def test_a_broadcast_goes_along_and_functions_of_a_script_too(monkeypatch):
    def broadcast(sc, value, needs):
        return SimpleNamespace(value=value)

    monkeypatch.setattr(shared_value, "broadcast", broadcast)
    sc = SimpleNamespace(_encryption_enabled=False)
    shared = SharedValue(sc, {"twice": lambda x: 2 * x})
    (found,) = on_gpu(partial(elsewhere.value, HOST, shared))
    assert found["twice"](4) == 8


@pytest.mark.parametrize("kind", elsewhere.ERRORS)
def test_an_error_of_ours_comes_back_as_it_is_and_others_with_their_traceback(kind):
    found = run_on_device("cuda", partial(elsewhere.fail, HOST, kind), iter([1]))
    error = elsewhere.ERRORS[kind]
    own, text = isinstance(error, SparkdlError), re.escape(str(error))
    before = "" if own else rf"process \d+ on .*: (\w+\.)*{type(error).__name__}: "
    with pytest.raises(type(error) if own else WorkerError) as caught:
        list(found)
    assert re.fullmatch(before + text, str(caught.value))
    assert own or "in fail" in caught.value.__notes__[0]


def test_a_process_that_dies_is_named_with_its_exit_code():
    with pytest.raises(WorkerError, match=r"process \d+ on .*, the host \(GPU-0\): ended .* -9"):
        on_gpu(partial(elsewhere.die, HOST), [1])
    assert on_gpu(partial(elsewhere.doubled, HOST))  # the next task gets a new process


def test_a_process_that_hangs_is_named_and_ended(monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    with pytest.raises(WorkerError, match=r"process \d+ on .*: waited 0.5 s for a result"):
        on_gpu(partial(elsewhere.hang, HOST), [1])
    assert not multiprocessing.active_children()


def test_a_task_that_is_dropped_leaves_no_process_in_the_middle():
    found = run_on_device("cuda", partial(elsewhere.doubled, HOST), iter(range(100)))
    pid, _ = next(found)
    found.close()
    assert not psutil.pid_exists(pid)


def test_a_worker_of_several_knows_its_place_and_leaves_nothing():
    ((pid, found, items),) = on_gpu(partial(elsewhere.locate, HOST), [1, 2], WorkerRank(1, 2))
    assert found == (1, 2) and items == [1, 2]
    assert not multiprocessing.active_children() and pid != os.getpid()


def test_without_a_gpu_it_is_an_error_that_says_why(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    module.end_idle()  # idle processes, which have the double
    with pytest.raises(UnsupportedError, match=r"CuPy: pip install 'sparkdl-hadoop\[gpu\]'|no GPU"):
        on_gpu(elsewhere.place)


def test_where_none_can_be_no_process_is_started_to_say_so(monkeypatch):
    monkeypatch.setattr(module, "can_reach_gpu", lambda: False)
    module.end_idle()
    compute, tally = partial(elsewhere.doubled, HOST), []
    found = run_on_device("cuda", compute, iter("a"), tally=SimpleNamespace(add=tally.append))
    assert {pid for pid, _ in found} == {os.getpid()}
    assert not tally and not multiprocessing.active_children()


def test_one_that_shows_no_files_is_taken_in_another_process(monkeypatch):
    monkeypatch.setattr(module, "why_no_gpu", lambda: "there is no driver")
    found = on_gpu(partial(elsewhere.doubled, HOST), "a")
    module.end_idle()
    assert os.getpid() not in {pid for pid, _ in found}


def test_auto_stays_where_no_gpu_is_and_says_which_were_dealt(context, monkeypatch, caplog):
    monkeypatch.setattr(device, "why_no_gpu", lambda: "there is no driver")
    monkeypatch.setattr(module, "why_no_gpu", device.why_no_gpu)
    context(Context(["3"], partition=2))
    work = run_partition_on_device(
        "auto", lambda partition, items: [partition, *items], 2, iter("x")
    )
    assert list(work) == [2, "x"] and not multiprocessing.active_children()
    assert "GPUs ('3',) but uses none: there is no driver" in caplog.text


def test_a_process_for_other_gpus_makes_way(context):
    compute, found = partial(elsewhere.doubled, HOST), []
    for addresses in (["1"], ["2"], ["2"]):
        context(Context(addresses))
        found += on_gpu(compute)
        assert len(multiprocessing.active_children()) == 1
        assert module.IDLE[0].device == f"the host (GPU-{addresses[0]})"
    pids = [pid for pid, _ in found]
    assert pids[0] != pids[1] == pids[2]


def test_a_process_that_hangs_ends_with_its_task():
    program = [sys.executable, "-m", "tests.spark.hung_task"]
    with subprocess.Popen(program, stdout=-1, text=True) as task:
        process = psutil.Process(int(task.stdout.readline()))
        task.kill()
    until(lambda: gone(process))


DEALT = {
    "nothing": (Context(), (), 0),
    "one": (Context(["1"], 4), ("1",), 4),
    "several": (Context(["GPU-7", "GPU-1"]), ("GPU-7", "GPU-1"), 0),
    "nothing, the first on its host": (BarrierContext("aab", 2), (), 0),
    "nothing, the second on its host": (BarrierContext("aba", 2), (), 1),
}


@pytest.mark.parametrize("name", DEALT)
def test_what_spark_says_of_gpus(name, context):
    found, addresses, number = DEALT[name]
    context(found)
    assert (gpus(), turn()) == (addresses, number)
