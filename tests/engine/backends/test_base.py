"""Backends are looked up by name."""

import platform
import re
import sys

import pytest

from sparkdl.engine import Graph, Spec, Tensor, backends, compile, ops
from sparkdl.engine.backends import base
from sparkdl.errors import UnsupportedError
from tests.engine.support import missing

HAS_WHEEL = sys.platform == "linux" and platform.machine() == "x86_64"


@pytest.mark.slow
def test_every_named_backend_can_be_had():
    assert backends.names() == ["cuda", "onednn", "reference"]
    assert backends.get("reference").name == "reference"


@pytest.mark.skipif(not HAS_WHEEL, reason="there is no wheel of oneDNN for this system")
def test_onednn_is_taken_where_its_wheel_is():
    assert backends.get("onednn") is backends.get("auto")


def test_without_the_library_the_reference_runs_and_says_why(monkeypatch):
    monkeypatch.setenv("SPARKDL_ONEDNN", "/nowhere")
    monkeypatch.setitem(base.MODULES, "onednn", "tests.engine.backends.missing_backend")
    base.fastest.cache_clear()
    x = Tensor(Spec((2,)), name="x")
    try:
        text = compile(Graph({"x": x}, {"y": ops.exp(x)}), backend="auto").describe()
    finally:
        base.fastest.cache_clear()
    assert "calls on reference" in text and "oneDNN was not found (/nowhere" in text


def test_an_unknown_backend_is_refused_with_those_there_are():
    x = Tensor(Spec((2,)), name="x")
    message = re.escape(
        "backend must be one of ['auto', 'cuda', 'onednn', 'reference'], got 'quantum'"
    )
    with pytest.raises(UnsupportedError, match=message):
        compile(Graph({"x": x}, {"y": ops.exp(x)}), backend="quantum")


@pytest.mark.parametrize("size", [1, 64, 1000])
def test_memory_begins_on_a_cache_line(size):
    memory = backends.get("reference").empty(size)
    assert memory.nbytes == size and memory.ctypes.data % 64 == 0


@pytest.mark.parametrize("name", ["reference", "auto"])
def test_a_backend_of_the_processor_answers_all_that_is_asked(name):
    backend = backends.get(name)
    assert not missing(backend, base.Backend)
    assert backend.device_name == backends.PROCESSOR
    assert backend.link({}) is None and backends.absent(name) is None
    assert backends.installed(name)


def test_what_a_backend_lacks_of_the_contract_is_seen():
    assert {"link", "device_name", "lower"} <= missing(object(), base.Backend)
