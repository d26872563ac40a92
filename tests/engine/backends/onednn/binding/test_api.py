"""oneDNN's refusals: numpy takes over where a kernel is missing, not where memory is."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.lowerings.convolutions import forward_pd
from sparkdl.engine.ops.spatial.conv import ConvOp
from sparkdl.errors import UnsupportedError
from tests.engine.support import feeds, trace

BACKEND = get("auto")
pytestmark = pytest.mark.skipif(BACKEND.name != "onednn", reason="no oneDNN: numpy runs")

X = np.ones((4, 4), np.float32)


class Refusing:
    """The library, but one of its functions returns a status."""

    def __init__(self, library, name, status):
        self.library, self.name, self.status = library, f"dnnl_{name}", status

    def __getattr__(self, name):
        if name == self.name:
            return lambda *arguments: self.status
        return getattr(self.library, name)


@pytest.fixture
def refuse(monkeypatch):
    """Returns a function that makes one of oneDNN's functions return a status."""

    def refuse(name, status):
        session = BACKEND.session
        monkeypatch.setattr(session, "library", Refusing(session.library, name, status))

    return refuse


multiply = partial(trace, lambda x: ops.matmul(x, x), X)
CREATORS = ["primitive_create", "matmul_primitive_desc_create", "memory_create"]


@pytest.mark.parametrize("name", CREATORS)
def test_numpy_takes_over_what_is_not_implemented(refuse, name):
    refuse(name, 3)
    program = compile(multiply(), "onednn")
    [step] = program.steps
    assert step.kernel.startswith("numpy") and step.note == f"oneDNN refuses {name} (status 3)"
    np.testing.assert_allclose(program.run(feeds([X]))["y0"], X @ X)


@pytest.mark.parametrize("name", CREATORS)
def test_without_memory_there_is_an_error(refuse, name):
    refuse(name, 1)
    with pytest.raises(MemoryError, match=f"oneDNN has no memory for {name}"):
        compile(multiply(), "onednn")


CONV = ConvOp((3, 3), (1, 1), ((0, 0),) * 2, (1, 1))
ARRAYS = [np.ones(n, np.float32) for n in [(4, 8, 9, 9), (8, 8, 3, 3), (4, 8, 7, 7)]]


def describe_convolution(session):
    return forward_pd(session, CONV, *ARRAYS)


@pytest.mark.parametrize(("status", "error"), [(1, MemoryError), (2, UnsupportedError)])
def test_the_next_implementation_is_not_missing_where_the_call_failed(refuse, status, error):
    session = BACKEND.session
    pd = describe_convolution(session)
    assert session.advance(describe_convolution(session), "none of this name") is None
    refuse("primitive_desc_next_impl", status)
    with pytest.raises(error, match="primitive_desc_next_impl"):
        session.advance(pd, "any")


FULL = """
import ctypes, resource
from tests.engine.backends.onednn.binding.test_api import BACKEND, describe_convolution

describe_convolution(BACKEND.session)
malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20),) * 2)
for power in range(20, 9, -1):
    while malloc(1 << power):
        pass
try:
    describe_convolution(BACKEND.session)
except MemoryError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_a_full_process_has_an_error_where_onednn_would_crash():
    """As under spark.executor.pyspark.memory, which limits the address space."""
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "oneDNN needs 4,194,304 bytes" in done.stdout, done.stderr


@pytest.mark.parametrize(("status", "error"), [(1, MemoryError), (5, UnsupportedError)])
def test_a_primitive_that_fails_is_an_error(status, error, monkeypatch):
    session = BACKEND.session
    monkeypatch.setattr(session, "execute", lambda *arguments: status)
    program = compile(multiply(), "onednn")
    with pytest.raises(error, match="primitive_execute"):
        program.run(feeds([X]))
