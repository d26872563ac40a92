"""TrainState refuses what cannot be a state."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from tests.training.reports import state

BAD = {
    "matrix": ({"params": np.zeros((2, 2), np.float32)}, "params must be a one-dimensional array"),
    "list": ({"slots": [0.0]}, "slots must be a one-dimensional array of floats"),
    "integers": ({"buffers": np.zeros(2, int)}, "buffers must be a one-dimensional array of float"),
    "two dtypes": ({"slots": np.zeros(2)}, "slots must be of dtype float32"),
    "the master's state": (
        {"master_state": {"velocity": 3.0}},
        "master_state must be one-dimensional arrays of floats by name",
    ),
    "negative": ({"round": -1}, "TrainState.round must be an integer >= 0, got -1"),
    "fraction": ({"epoch": 0.5}, "TrainState.epoch must be an integer >= 0, got 0.5"),
}


@pytest.mark.parametrize("name", BAD)
def test_it_refuses(name):
    changes, message = BAD[name]
    with pytest.raises(ConfigError, match=message):
        state(**changes)


def test_counters_are_plain_integers():
    counters = state(epoch=np.int64(2), seed=7).counters
    zeros = dict.fromkeys(("round", "done", "rounds", "iteration"), 0)
    assert counters == {"epoch": 2, "seed": 7} | zeros
    assert {type(value) for value in counters.values()} == {int}


def test_vectors_may_be_empty_or_float64():
    nothing = np.zeros(0)
    assert len(state(params=np.ones(2), buffers=nothing, slots=nothing).params) == 2
