"""CupyDriver on a test double of CuPy, and the double's signatures against the real CuPy's.

The signatures need the package cupy-cuda13x==14.2.0 (70 MB), but no GPU.
"""

import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest

from sparkdl.engine.backends import base
from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.engine.backends.cuda.device import cupy_driver, nvrtc
from sparkdl.engine.backends.cuda.device.cupy_driver import CupyDriver
from sparkdl.errors import DeviceError, UnsupportedError
from sparkdl.nn import Adam, Conv2D, Dense, Dropout, MaxPool2D, NetworkConf, Output
from sparkdl.nn.execution.replica import Replica
from tests.nn.networks.test_graph import batch_of
from tests.support.cuda import fake_cupy

LAYERS = [
    Conv2D(filters=4, kernel_size=3),
    MaxPool2D(size=2),
    Dropout(),
    Dense(units=9),
    Output(units=3),
]
CONF = NetworkConf(input_shape=(2, 9, 8), layers=LAYERS, optimizer=Adam())


@pytest.fixture
def driver(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARKDL_KERNELS", str(tmp_path))
    monkeypatch.setattr(cupy_driver, "load_cupy", lambda: fake_cupy)
    monkeypatch.setattr(cupy_driver, "id_of", lambda number: f"GPU-{number}")
    monkeypatch.setattr(nvrtc, "library", lambda: None)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    monkeypatch.setattr(nvrtc, "compile_module", fake_cupy.code_of)
    return CupyDriver()


@pytest.fixture
def by_cupy(driver, monkeypatch):
    """Returns the "cuda" backend on CupyDriver."""
    monkeypatch.setitem(base.MODULES, "cuda", "by_cupy")
    monkeypatch.setattr(base, "import_module", lambda name: SimpleNamespace(BACKEND=Cuda(driver)))


@pytest.mark.slow
def test_a_network_trains(by_cupy, monkeypatch):
    own, batch = Replica(CONF, "cuda"), batch_of(CONF, np.random.default_rng(0), 5)
    losses = [float(own.step(batch, 0.01, t)) for t in range(1, 5)]
    monkeypatch.undo()
    other = Replica(CONF, "reference")
    assert losses == pytest.approx([float(other.step(batch, 0.01, t)) for t in range(1, 5)], 1e-4)
    np.testing.assert_allclose(own.params, other.params, 0, 1e-5)


def test_what_is_known_of_the_device(driver):
    found = driver.properties
    assert (found.name, found.capability) == ("the host by CuPy's calls", (9, 0))
    assert found.memory == 1 << 30 and driver.free() == 1 << 29


def test_a_block_may_have_all_the_memory_that_the_device_shares(driver):
    module = driver.compile('extern "C" __global__ void nothing() {}')
    function = driver.function(module, "nothing")
    assert function.most == (227 << 10) - (1 << 10)


def test_work_of_a_library_is_put_on_a_stream_and_timed(driver):
    stream, seen = driver.stream(), []
    driver.enqueue(seen.append, stream)
    assert driver.seconds(seen.append, stream) >= 0
    assert seen == [stream.ptr] * 2


@pytest.mark.parametrize("status, expected", [(0, True), (600, False)])
def test_an_event_is_reached_or_not(driver, monkeypatch, status, expected):
    monkeypatch.setattr(fake_cupy.runtime, "eventQuery", lambda event: status)
    assert driver.is_reached(driver.event()) is expected


def test_a_device_that_has_failed_says_so_to_whoever_asks(driver, monkeypatch):
    monkeypatch.setattr(fake_cupy.runtime, "eventQuery", lambda event: 700)
    with pytest.raises(DeviceError, match="700"):
        driver.is_reached(driver.event())


REFUSALS = {
    "memory": (lambda d: d.allocate(1 << 40), DeviceError, "536,870,912 bytes free, 1,099,511,627"),
    "memory of a program": (
        lambda d: Cuda(d).empty(1 << 40),
        DeviceError,
        "plan: .* 536,870,912 bytes free, 1,099,511,627,776 are needed: .*; smaller batches need",
    ),
    "pinned": (
        lambda d: d.allocate_pinned(1 << 40),
        DeviceError,
        "allocate 1,099,511,627,776 bytes of pinned",
    ),
    "code": (
        lambda d: d.compile("nonsense"),
        UnsupportedError,
        "cannot load this code: CUDA_ERROR_IN",
    ),
    "number": (lambda d: CupyDriver(3), UnsupportedError, "there is no GPU 3: this process sees 1"),
}


@pytest.mark.parametrize("ask, error, text", REFUSALS.values(), ids=REFUSALS)
def test_refusals_say_why(driver, ask, error, text):
    with pytest.raises(error, match=text):
        ask(driver)


def test_without_a_driver_it_says_so(driver, monkeypatch):
    def none():
        raise fake_cupy.CUDARuntimeError("cudaErrorInsufficientDriver: CUDA driver version")

    monkeypatch.setattr(fake_cupy.runtime, "getDeviceCount", none)
    with pytest.raises(UnsupportedError, match="no GPU is available: cudaErrorInsufficientDriver"):
        CupyDriver()


CLASSES = "Event", "Memory", "PinnedMemory", "PinnedMemoryPointer", "Stream"
METHODS = {
    "Event": ("record", "synchronize"),
    "Graph": ("launch",),
    "Module": ("load", "get_function"),
    "Stream": ("begin_capture", "end_capture", "wait_event"),
    "driver": [*vars(fake_cupy.driver)],
    "runtime": [*vars(fake_cupy.runtime)],
}
CALLS = [(name,) for name in (*CLASSES, "get_elapsed_time")]
CALLS += [(owner, name) for owner, names in METHODS.items() for name in names]


@pytest.mark.parametrize("path", CALLS, ids=".".join)
def test_the_double_is_as_the_real_one(path):
    real = pytest.importorskip("cupy.cuda", reason="needs the package cupy-cuda13x==14.2.0")
    from cupy.cuda.graph import Graph

    own = fake_cupy
    for name in path:
        own, real = getattr(own, name), Graph if name == "Graph" else getattr(real, name)
    if isinstance(own, int):
        assert own == real
    elif not path[-1].endswith("Error"):
        assert parameters_of(own) == parameters_of(real)


def parameters_of(function):
    """Returns parameter names from the signature, or from the docstring of a Cython function."""
    said = re.match(r"[\w.]+\((.*?)\)", function.__doc__ or "")
    if said is None:
        names = [*inspect.signature(function).parameters]
    else:
        names = [one.split("=")[0].split()[-1] for one in said[1].split(",") if one]
    return [name for name in names if name != "self"]
