"""A few seconds of what `python -m tests.data.fuzz` does for an hour."""

import random

import pytest

from tests.data import fuzz


@pytest.mark.slow
def test_mutated_files_do_no_harm():
    counts, wrong = fuzz.run(seconds=1, seed=random.randrange(1 << 30))
    assert not wrong
    assert min(counts.values()) >= fuzz.BATCH


CRASHED = [("LMDB", 28), ("LMDB", 32), ("LMDB", 893), ("HDF5", 462)]  # of seed 0, before


@pytest.mark.parametrize("name, number", CRASHED)
def test_what_did_harm_once(name, number):
    assert not list(fuzz.run_batch(name, 0, [number]))
