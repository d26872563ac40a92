"""A few seconds of `python -m tests.data.fuzz`, and its cases that once crashed."""

import random

import pytest

from tests.data import fuzz


@pytest.mark.slow
def test_mutated_files_do_no_harm():
    counts, wrong = fuzz.run(seconds=1, seed=random.randrange(1 << 30))
    assert not wrong
    assert min(counts.values()) >= fuzz.BATCH


CRASHED = [  # cases that were fixed
    *(("LMDB", 0, number) for number in (28, 32, 893)),
    ("HDF5", 0, 462),
    ("Keras HDF5", 7, 634),
    ("Parquet", 228061541, 44),
    ("ONNX network", 838816259, 15),
]


@pytest.mark.parametrize("name, seed, number", CRASHED)
def test_what_did_harm_once(name, seed, number):
    assert not list(fuzz.run_batch(name, seed, [number]))
