"""Seeding a model does not affect the user's random numbers."""

import random

import numpy as np
import pytest

from sparkdl.interop.keras.live.random_state import seeded, seeded_generator
from tests.interop.keras.live.models import model, numbers
from tests.interop.keras.models import keras


def draw():
    """Draws a number from each generator that Keras seeds."""
    drawn = [random.random(), np.random.rand(), float(numbers(keras.random.uniform(())))]
    if keras.backend.backend() == "torch":
        import torch

        drawn.append(float(torch.rand(())))
    return drawn


def test_a_model_is_made_without_a_change_of_the_users_random_numbers():
    keras.utils.set_random_seed(11)
    keras.random.uniform(())  # starts Keras's global generator
    before = random.getstate(), np.random.get_state()[1].copy()
    expected = [draw(), draw()]
    keras.utils.set_random_seed(11)
    keras.random.uniform(())
    model()
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])
    assert draw() == expected[0]
    model()
    assert draw() == expected[1]


def test_it_goes_on_where_the_block_fails():
    random.seed(4)
    before = random.getstate()
    with pytest.raises(KeyError), seeded(3):
        raise KeyError
    assert random.getstate() == before


def test_a_seed_gives_the_same_numbers():
    drawn = []
    for _ in range(2):
        with seeded(3):
            drawn.append(draw())
    assert drawn[0] == drawn[1]


def test_numbers_without_a_seed_follow_from_that_of_the_block():
    drawn = []
    for seed in (5, 5, 6):
        with seeded_generator(seed):
            drawn.append(float(numbers(keras.random.uniform(()))))
    assert drawn[0] == drawn[1] != drawn[2]
