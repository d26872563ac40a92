"""TrainState refuses invalid states."""

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
    "absurd": ({"iteration": 2**53}, r"iteration must be an integer below 2\^53, got 90071992547"),
    "of more than 64 bits": ({"epoch": 2**64}, r"TrainState.epoch must be an integer below 2\^53"),
    "a long seed": ({"seed": 2**63}, r"TrainState.seed must be an integer below 2\^63, got 92233"),
    "a factor beyond floats": (
        {"rate_factor": 10**400},
        "rate_factor must be a number that float32",
    ),
    "a factor beyond float32": ({"rate_factor": 1e300}, "a number that float32 has, got 1e\\+300"),
    "no factor": (
        {"rate_factor": float("nan")},
        "TrainState.rate_factor must be a number > 0, got",
    ),
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


def test_predictions_need_no_slots():
    tables = {"t/ids": np.array([5, 3]), "t/rows": np.float32([1, 2, 3, 4])}
    kept = {"t/mean": np.zeros(4, np.float32), "t/last": np.zeros(2, np.int32)}
    whole = state(
        params=np.ones(3),
        slots=np.ones(6),
        buffers=np.ones(2),
        master_state={"velocity": np.ones(3)},
        tables=tables | kept,
        epoch=3,
    )
    small = whole.without_slots()
    assert small.params is whole.params and small.buffers is whole.buffers and small.epoch == 3
    assert not len(small.slots) and small.slots.dtype == whole.slots.dtype
    assert small.master_state == {} and small.worker_states == ()
    assert {name: array.tolist() for name, array in small.tables.items()} == {
        "t/ids": [3, 5],
        "t/rows": [3, 4, 1, 2],
    }
