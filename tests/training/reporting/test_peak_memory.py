"""Peak memory, measured on known numpy allocations."""

import resource
import subprocess
import sys

import numpy as np
import pytest

from sparkdl.training.reporting import peak_memory as module
from sparkdl.training.reporting.peak_memory import peak_memory

SIZE = 64 << 20
CHILD = "from sparkdl.training.reporting.peak_memory import peak_memory; print(peak_memory())"
GROWING = f"""
import numpy as np
from sparkdl.training.reporting.peak_memory import peak_memory
print(before := peak_memory())
array = np.ones(before + {SIZE}, np.uint8)
print(peak_memory())
del array
print(peak_memory())
"""


@pytest.mark.slow
def test_it_grows_with_what_is_in_use_and_stays():
    before, most, after = map(int, run(GROWING).split())  # a small process grows by that much
    assert most > before + SIZE / 2
    assert after > most - SIZE / 8, "Linux counts in steps, each thread its own"


@pytest.mark.slow
def test_a_child_does_not_begin_with_its_parents():
    array = np.ones(8 * SIZE, np.uint8)
    assert 1 << 20 < int(run(CHILD)) < array.nbytes


def run(code):
    """Runs code in a new process; returns its output."""
    program = [sys.executable, "-c", code]
    return subprocess.run(program, capture_output=True, text=True, check=True).stdout


def test_without_proc_the_system_is_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "STATUS", tmp_path / "nothing")
    monkeypatch.setattr(sys, "platform", "linux")
    assert peak_memory() == 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    monkeypatch.setattr(sys, "platform", "darwin")
    assert peak_memory() == resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
