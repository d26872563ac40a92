"""Backends are found by name."""

import re

import pytest

from sparkdl.engine import Graph, Spec, Tensor, backends, compile, ops
from sparkdl.errors import UnsupportedError


def test_every_named_backend_can_be_had():
    assert backends.names() == ["onednn", "reference"]
    for name in backends.names():
        assert backends.get(name).name == name


def test_an_unknown_backend_is_refused_with_those_there_are():
    x = Tensor(Spec((2,)), name="x")
    message = re.escape("backend must be one of ['auto', 'onednn', 'reference'], got 'quantum'")
    with pytest.raises(UnsupportedError, match=message):
        compile(Graph({"x": x}, {"y": ops.exp(x)}), backend="quantum")


@pytest.mark.parametrize("size", [1, 64, 1000])
def test_memory_begins_on_a_cache_line(size):
    memory = backends.get("reference").empty(size)
    assert memory.nbytes == size and memory.ctypes.data % 64 == 0
