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
    """Makes worker processes spawn, as they do where there is no fork server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "PROCESSES", multiprocessing.get_context("spawn"))
        yield


@pytest.fixture(scope="session")
def crews():
    """Returns LocalWorkers by number, made on first use: starting processes takes a second."""
    made = {}

    def of(size):
        if size not in made:
            made[size] = LocalWorkers(size)
        return made[size]

    yield of
    for workers in made.values():
        workers.close()
