"""The backend "cuda" on the host, where g++ is: its kernels' own source runs on the processor."""

import pytest

from sparkdl.engine.backends import base
from tests.support.cuda.compiler import available


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    """The backend that "cuda" stands for in a test."""
    if not available():
        pytest.skip("no g++ to run the kernels of cuda on the host")
    monkeypatch.setitem(base.MODULES, "cuda", "tests.support.cuda.backend")
    return base.get("cuda")
