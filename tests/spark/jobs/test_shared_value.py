"""Values that all tasks of a job receive."""

import errno
import gc
import os
import sys
import weakref
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pyarrow
import pytest
from py4j.protocol import Py4JError
from pyspark import Broadcast

from sparkdl.errors import ConfigError, DataError
from sparkdl.spark.jobs import shared_value
from sparkdl.spark.jobs.mapped_value import FOLDER
from sparkdl.spark.jobs.shared_value import (
    LARGE,
    LocalValue,
    SharedValue,
    broadcast,
    open_shared,
    sharing,
)
from sparkdl.spark.jobs.user_code import pickle_value
from tests.support.waiting import until

TASKS = 8


def see(shared, _):
    return os.getpid(), id(shared.kept_value), id(shared.value), shared.kept_value["x"].sum()


def test_tasks_of_a_process_may_have_one_object_of_a_value(sc):
    with sharing(sc, {"x": np.arange(5)}) as shared:
        seen = sc.range(TASKS, numSlices=TASKS).map(lambda _: see(shared, _)).collect()
    processes = {pid for pid, *_ in seen}
    assert len(seen) == TASKS > len(processes)
    assert len({(pid, kept) for pid, kept, *_ in seen}) == len(processes)
    assert all(kept != value and total == 10 for _, kept, value, total in seen)


def test_another_value_is_another_object(sc):
    found = []
    for number in (1, 2):
        with sharing(sc, {"x": np.full(3, number)}) as shared:
            found += sc.range(4, numSlices=4).map(lambda _: see(shared, _)[-1]).collect()
    assert found == [3] * 4 + [6] * 4


def map_of(shared, _):
    x = shared.kept_value["x"]
    with open("/proc/self/maps") as lines:
        mapped = [line for line in lines if FOLDER in line]
    return os.getpid(), len(mapped), x.flags.writeable, float(x[-1]), x.nbytes


def test_processes_of_an_executor_map_a_large_value(sc):
    value = {"x": np.arange(LARGE // 8 + 1, dtype=np.float64), "y": np.zeros(0, np.float32)}
    with sharing(sc, value) as shared:
        for _ in range(2):
            seen = sc.range(TASKS, numSlices=TASKS).map(lambda _: map_of(shared, _)).collect()
            assert {row[1:] for row in seen} == {(1, False, LARGE // 8, LARGE + 8)}


def first_and_last(shared, _):
    x, y = shared.value["x"], shared.value["y"]
    return float(x[0]), float(x[-1]), x.size, y.tobytes(), shared.kept_value["x"] is x


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # pyspark's own socket
def test_large_arrays_travel_where_spark_encrypts(sc, monkeypatch):
    """Spark then takes them as a stream, which needs the length of each piece."""
    rows = np.arange(LARGE // 8, dtype=np.float64)
    fixed = np.arange(20_000, dtype=np.int32)
    fixed.flags.writeable = False
    value = {"x": rows.reshape(2, -1).T[:, 1], "y": fixed}
    with monkeypatch.context() as patch:
        patch.setattr(sc, "_encryption_enabled", True)
        shared = SharedValue(sc, value)
    seen = sc.range(2, numSlices=2).map(lambda _: first_and_last(shared, _)).collect()
    shared.destroy()
    half = rows.size // 2
    assert seen == [(half, rows.size - 1, half, fixed.tobytes(), False)] * 2


def test_a_broadcast_that_fails_leaves_no_file(sc, monkeypatch):
    def fill(made, value, file):
        file.write(b"part")
        file.flush()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Broadcast, "dump", fill)
    before = set(os.listdir(sc._temp_dir))  # other tests may have released some of these
    with pytest.raises(DataError, match="must have room for objects for tasks"):
        broadcast(sc, 1)
    assert set(os.listdir(sc._temp_dir)) <= before


def give(shared, tables):
    for _ in tables:
        yield pyarrow.RecordBatch.from_pydict({"n": [shared.kept_value]})


class Thing:
    """Something that the tasks of a broadcast need on the driver."""


def test_files_go_that_no_frame_needs_any_more(spark, sc):
    things = Thing(), Thing()
    left, needed = SharedValue(sc, 7, things[0]), SharedValue(sc, 8, needs=[things[1]])
    paths = [Path(one._broadcast._path) for one in (left, needed)]
    things = [weakref.ref(thing) for thing in things]
    frame = spark.range(1).coalesce(1).mapInArrow(partial(give, needed), "n long")
    del left, needed

    def is_gone():
        gc.collect()
        sc._jvm.System.gc()
        SharedValue(sc, 9).destroy()
        return not paths[0].exists()

    until(is_gone)
    assert paths[1].exists() and [row.n for row in frame.collect()] == [8]
    assert things[0]() is None and things[1]() is not None


class Reference:
    """A stub of a JVM weak reference; comparing two would make py4j call the JVM."""

    def __init__(self, target):
        self.get = lambda: target

    def __eq__(self, other):
        raise AssertionError("a question to the JVM")

    __hash__ = None


def test_files_are_sorted_out_by_a_single_question_for_each(tmp_path, monkeypatch):
    def write_broadcast(made, sc, target, registry):
        made._path, made._jbroadcast = str(tmp_path / f"{target}"), target
        Path(made._path).touch()

    sc = Mock()
    sc._jvm.java.lang.ref.WeakReference = Reference
    monkeypatch.setattr(Broadcast, "__init__", write_broadcast)
    monkeypatch.setattr(shared_value, "LEFT", type(shared_value.LEFT)())
    for target in ("needed", None, "as well", None):
        broadcast(sc, target)
    broadcast(sc, "last")
    assert sorted(os.listdir(tmp_path)) == ["as well", "last", "needed"]


@pytest.mark.parametrize("error", [Py4JError, ConnectionRefusedError])
def test_files_of_a_jvm_that_is_gone_do_not_hinder_the_next_one(error, tmp_path, monkeypatch):
    path = tmp_path / "left"
    path.touch()
    reference = SimpleNamespace(get=Mock(side_effect=error))
    monkeypatch.setattr(shared_value, "LEFT", {str(path): (reference, None)})
    shared_value.remove_left()
    assert not shared_value.LEFT and not path.exists()


def test_a_local_value_keeps_what_it_has():
    value = {"x": 1}
    assert LocalValue(value).kept_value is value


def test_what_cannot_travel_is_named(sc):
    with pytest.raises(ConfigError, match=r"objects for tasks .* must travel to the executors"):
        SharedValue(sc, sc)


class Local:
    """A stub SparkContext without broadcasts."""

    _encryption_enabled, _pickled_broadcast_vars = False, set()


def test_a_shared_function_is_another_one_where_what_it_uses_has_changed(monkeypatch):
    monkeypatch.setattr(shared_value, "broadcast", lambda sc, value, needs: value)
    names = {"__name__": "__main__", "factor": 2.0}
    exec("def scale(x): return x * factor", names)
    shared = SharedValue(Local(), names["scale"])
    assert shared.has_code_of(names["scale"])
    names["factor"] = 3.0
    assert not shared.has_code_of(names["scale"])
    assert SharedValue(Local(), np.ones(3)).has_code_of(np.ones(3))


def test_a_module_that_the_driver_alone_has_is_named_with_the_cure(monkeypatch):
    module = ModuleType("only_here")
    exec("def change(batch): return batch", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    rest, arrays = pickle_value(module.change)
    assert open_shared(rest, arrays).value is module.change
    del module.change
    with pytest.raises(
        ConfigError, match="importable on the executors, got AttributeError: Can't get"
    ):
        open_shared(rest, arrays)
    monkeypatch.delitem(sys.modules, "only_here")
    with pytest.raises(ConfigError, match=r"No module named 'only_here'; send it .*sc\.addPyFile"):
        open_shared(rest, arrays)
