"""cuDNN plans: timed if the device has a clock, cached on disk; a missing library is reported."""

import sys
from dataclasses import replace
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.engine import Spec
from sparkdl.engine.backends.cuda.cudnn import adapter
from sparkdl.engine.backends.cuda.cudnn.adapter import Cudnn
from sparkdl.engine.backends.cuda.cudnn.convolutions import ForwardRequest
from sparkdl.engine.ops.spatial.conv import ConvOp
from sparkdl.errors import DeviceError, UnsupportedError
from tests.support.cuda import cudnn_double
from tests.support.cuda.host_driver import HostDriver

X, W, Y = Spec((2, 8, 4, 4)), Spec((8, 8, 3, 3)), Spec((2, 8, 2, 2))
REQUEST = ForwardRequest(op=ConvOp((3, 3), (1, 1), ((0, 0),) * 2, (1, 1)), x=X, w=W, y=Y)
SECONDS = {0: 3.0, 2: 1.0}  # per engine; the double rejects all others


class Clocked(HostDriver):
    """Runs the work to be timed at once."""

    def seconds(self, work, stream):
        with np.errstate(all="ignore"):
            work(1)
        return SECONDS[cudnn_double.RUN[-1]]


class Full(HostDriver):
    def allocate(self, size):
        raise DeviceError("no memory")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("driver", "engine"), [(Clocked, 2), (HostDriver, 0), (Full, 0)])
def test_the_fastest_engine_is_taken_where_a_device_has_time_and_room(driver, engine):
    assert Cudnn(cudnn_double, driver()).plan(REQUEST).graph.index == engine


def test_a_plan_that_fails_while_it_is_timed_is_none_and_says_why(caplog):
    """It was kept, and memory was blamed."""

    class Failing(HostDriver):
        def seconds(self, work, stream):
            raise DeviceError("an illegal memory access was encountered")

    with pytest.raises(UnsupportedError, match="illegal memory access"):
        Cudnn(cudnn_double, Failing()).plan(REQUEST)
    assert not caplog.text


def test_nothing_runs_on_the_stream_on_which_another_thread_times_plans():
    found, put, threads = Cudnn(cudnn_double, HostDriver()), [], []
    plan = found.plan(REQUEST)
    plan.graph = SimpleNamespace(execute=lambda *words, handle: put.append(handle.stream))

    class Timing(HostDriver):
        def seconds(self, work, stream):
            if not threads:
                found.follow(1)
                threads.append(Thread(target=plan.run, args=({}, 0, 2)))
                threads[0].start()
                threads[0].join(0.1)
                assert not put
            return 0.0

    found.driver = Timing()
    found.plan(replace(REQUEST, x=Spec((3, 8, 4, 4)), y=Spec((3, 8, 2, 2))))
    threads[0].join(60)
    assert put == [2]


def test_a_plan_is_kept_on_disk(monkeypatch):
    first = Cudnn(cudnn_double, HostDriver()).plan(REQUEST)
    monkeypatch.setattr(ForwardRequest, "draw", None)
    second = Cudnn(cudnn_double, another_of_the_kind())
    assert second.plan(REQUEST).graph.nodes is first.graph.nodes
    with pytest.raises(TypeError):
        second.plan(REQUEST, tf32=True)


def another_of_the_kind():
    driver = HostDriver()
    driver.properties = replace(driver.properties, id="GPU-another")
    return driver


@pytest.mark.parametrize(
    ("kind", "tf32", "exact"),
    [("float32", False, True), ("float32", True, False), ("bfloat16", False, False)],
)
def test_float32_is_rounded_only_where_that_is_allowed(monkeypatch, kind, tf32, exact):
    asked = []
    monkeypatch.setattr(
        cudnn_double.pygraph, "deselect_numeric_notes", lambda g, n: asked.append(n)
    )
    x, w, y = (replace(spec, dtype=kind) for spec in (X, W, Y))
    Cudnn(cudnn_double, HostDriver()).plan(replace(REQUEST, x=x, w=w, y=y), tf32)
    note = cudnn_double.numerical_note
    inexact = [note.TENSOR_CORE, note.DOWN_CONVERT_INPUTS] * exact
    assert asked == [[note.NONDETERMINISTIC, *inexact]]


@pytest.mark.parametrize("verb", ["serialize", "deserialize"])
def test_what_is_not_kept_or_no_longer_taken_is_planned_anew(monkeypatch, verb):
    refusal = cudnn_double.cudnnGraphNotSupportedError("another driver")
    monkeypatch.setattr(cudnn_double.pygraph, verb, raising(refusal))
    Cudnn(cudnn_double, HostDriver()).plan(REQUEST)
    assert Cudnn(cudnn_double, HostDriver()).plan(REQUEST).graph.nodes


def raising(error):
    def call(*words):
        raise error

    return call


def test_a_refusal_is_remembered_with_its_reason(monkeypatch):
    refusal = "Warning: CUDNN_STATUS_NOT_SUPPORTED_X; Reason: too  odd\nand more"
    refuses = raising(cudnn_double.cudnnGraphNotSupportedError(refusal))
    monkeypatch.setattr(cudnn_double.pygraph, "validate", refuses)
    graphs = Cudnn(cudnn_double, HostDriver())
    for _ in range(2):
        with pytest.raises(
            UnsupportedError, match=r"^CUDNN_STATUS_NOT_SUPPORTED_X; Reason: too odd$"
        ):
            graphs.plan(REQUEST)
        monkeypatch.setattr(cudnn_double.pygraph, "validate", None)


FULL = "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED; Reason: cudaMalloc\nmore"


@pytest.mark.parametrize("verb", ["check_support", "build_plans"])
def test_without_memory_for_a_plan_nothing_takes_over(monkeypatch, verb):
    """Our own kernel would round in another way than that of the other workers."""
    monkeypatch.setattr(cudnn_double.pygraph, verb, raising(RuntimeError(FULL)))
    graphs = Cudnn(cudnn_double, HostDriver())
    with pytest.raises(MemoryError, match="cuDNN's convolution has no memory: CUDNN.*; smaller"):
        graphs.plan(REQUEST)
    monkeypatch.undo()
    assert graphs.plan(REQUEST)


def test_without_memory_to_start_it_is_not_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cudnn", cudnn_double)
    monkeypatch.setattr(cudnn_double, "create_handle", raising(RuntimeError(FULL)))
    with pytest.raises(MemoryError, match="cuDNN has no memory"):
        adapter.load_adapter(HostDriver())


@pytest.mark.slow
def test_an_engine_that_memory_did_not_let_us_time_is_not_kept(monkeypatch, caplog):
    """Else all later processes would run it, however slow it is."""
    Cudnn(cudnn_double, Full()).plan(REQUEST)
    assert "cuDNN's convolution may be slow: no memory to time its engines" in caplog.text
    assert Cudnn(cudnn_double, Clocked()).plan(REQUEST).graph.index == 2
    other = replace(REQUEST, x=Spec((3, 8, 4, 4)), y=Spec((3, 8, 2, 2)))
    build = cudnn_double.pygraph.build_plan_at_index

    def build_or_lack(graph, index):
        if index == 2:
            raise RuntimeError(FULL)
        return build(graph, index)

    with monkeypatch.context() as lacking:
        lacking.setattr(cudnn_double.pygraph, "build_plan_at_index", build_or_lack)
        assert Cudnn(cudnn_double, Clocked()).plan(other).graph.index == 0
    assert Cudnn(cudnn_double, Clocked()).plan(other).graph.index == 2


MISSING = [
    (None, {}, "pip install 'sparkdl"),
    (
        cudnn_double,
        {"__version__": "1.29.1"},
        r"nvidia-cudnn-frontend>=1.20,<1.29 is needed, not 1.29.1",
    ),
    (cudnn_double, {"create_handle": raising(RuntimeError("no lib"))}, "nvidia-cudnn-cu13 .no lib"),
]


@pytest.mark.parametrize(("module", "attributes", "message"), MISSING)
def test_what_is_missing_is_told(monkeypatch, module, attributes, message):
    monkeypatch.setitem(sys.modules, "cudnn", module)
    for name, value in attributes.items():
        monkeypatch.setattr(cudnn_double, name, value)
    with pytest.raises(UnsupportedError, match=message):
        adapter.load_adapter(HostDriver())


def test_it_is_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "cudnn", cudnn_double)
    assert adapter.load_adapter(HostDriver()).name == "cuDNN 9.28.0"
