"""oneDNN's refusals: numpy takes over where a kernel is missing, not where memory is."""

from functools import partial

import numpy as np
import pytest

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
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


@pytest.mark.parametrize(("status", "error"), [(1, MemoryError), (5, UnsupportedError)])
def test_a_primitive_that_fails_is_an_error(status, error, monkeypatch):
    session = BACKEND.session
    monkeypatch.setattr(session, "execute", lambda *arguments: status)
    program = compile(multiply(), "onednn")
    with pytest.raises(error, match="primitive_execute"):
        program.run(feeds([X]))
