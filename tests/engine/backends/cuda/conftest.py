"""The "cuda" backend on the host: where g++ exists, the kernels' own source runs on the CPU."""

import pytest

from sparkdl.engine.backends import base
from tests.support.cuda.on_host import use_host


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    """Makes "cuda" stand for this backend in a test."""
    use_host(monkeypatch)
    return base.get("cuda")
