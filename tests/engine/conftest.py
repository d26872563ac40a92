"""Fixtures of the engine tests: random numbers, and jax in float64."""

import jax
import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def x64():
    """Makes jax compute in float64 for the duration of a test."""
    with jax.enable_x64(True):
        yield
