"""Backend "cuda" whose kernels run on the host, for tests of a process."""

import pytest

from sparkdl.engine.backends.base import MODULES
from tests.support.cuda.compiler import available


def require_compiler():
    """Skips a test if there is no compiler."""
    if not available():
        pytest.skip("no g++ to run the kernels of cuda on the host")


def use_host(monkeypatch):
    """Lets backend "cuda" run its kernels on the host; skips the test if there is no compiler."""
    require_compiler()
    monkeypatch.setitem(MODULES, "cuda", "tests.support.cuda.backend")
