"""The exchange keeps its promises in simulated worlds, and each seed repeats."""

import subprocess
import sys

import pytest

PROGRAM = [sys.executable, "-m", "tests.chaos.simulation"]


def simulated(*options):
    """In a process of its own: it replaces what other threads of this one may use."""
    done = subprocess.run([*PROGRAM, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 failed" in done.stdout


@pytest.mark.slow
def test_seeds_keep_all_promises_and_repeat():
    simulated("--seeds", "40", "--twice")


@pytest.mark.slow
def test_a_store_loses_no_push_and_applies_none_twice():
    """Through kills, pauses, cuts, and new starts from snapshots, in each mode."""
    simulated("--of", "store", "--seeds", "30", "--twice")


@pytest.mark.slow
def test_a_group_of_64_forms_and_computes():
    simulated("--seeds", "1", "--size", "64", "--fault", "nothing")
    simulated("--of", "store", "--seeds", "2", "--size", "64")
