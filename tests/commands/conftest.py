"""Fixtures of the commands' tests."""

from functools import partial

import pytest

from sparkdl.commands.caffe import devices
from sparkdl.engine.peak import peak
from sparkdl.nn.execution import timing


@pytest.fixture(autouse=True)
def peak_of_a_small_product(monkeypatch):
    """The large product takes seconds; tests/engine/test_peak.py checks the real peak."""
    for module in (devices, timing):
        monkeypatch.setattr(module, "peak", partial(peak, side=64))
