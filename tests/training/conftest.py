"""Fixtures of the training tests."""

import multiprocessing

import numpy as np
import pytest

from sparkdl.training.workers import local
from sparkdl.training.workers.local import LocalWorkers


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def spawned():
    """Processes of workers start as those of users do, in the environment that there is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "starting", multiprocessing.get_context("spawn"))
        yield


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
