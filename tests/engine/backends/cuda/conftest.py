"""The "cuda" backend on the host: where g++ exists, the kernels' own source runs on the CPU."""

import pytest

from sparkdl.engine.backends import base
from tests.support.cuda.compiler import available


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    """Makes "cuda" stand for this backend in a test."""
    if not available():
        pytest.skip("no g++ to run the kernels of cuda on the host")
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.backend")
    return base.get("cuda")
