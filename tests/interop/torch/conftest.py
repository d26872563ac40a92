"""Fixtures of the tests of torch modules."""

import numpy as np
import pytest

from sparkdl.training.workers.local import LocalWorkers


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture(scope="session")
def crews():
    """LocalWorkers by number, made when first asked for: starting processes takes a second."""
    made = {}

    def of(size):
        if size not in made:
            made[size] = LocalWorkers(size)
        return made[size]

    yield of
    for workers in made.values():
        workers.close()
