"""How a loss reads a model's outputs and masks."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.keras.live.outputs import has_units_last, masks_steps, steps_mask
from tests.interop.keras.models import keras

L = keras.layers


def padded(*behind, mask_zero=True):
    words = keras.Input((5,), dtype="int32")
    return keras.Sequential([words, L.Embedding(9, 4, mask_zero=mask_zero), *behind])


def within(model):
    x = keras.Input((5,), dtype="int32")
    return keras.Model(x, L.Dense(2)(model(x)))


MASKS = {
    "of ids": (padded, True),
    "through a recurrent layer": (lambda: padded(L.LSTM(3, return_sequences=True)), True),
    "of a model within a model": (lambda: within(padded()), True),
    "none": (lambda: padded(mask_zero=False), False),
}


@pytest.mark.parametrize("name", MASKS)
def test_whether_a_model_masks_steps(name):
    make, expected = MASKS[name]
    assert masks_steps(make(), (5,), "int64") is expected


def test_masks_of_all_else_are_refused_or_are_none():
    rows, images = np.zeros((4, 3), np.float32), np.zeros((4, 3, 3, 2), np.float32)
    assert steps_mask(None, rows) is None
    assert steps_mask(np.ones((4, 3), bool), rows) is None  # nor does Keras apply it to losses (4,)
    for y in (rows, images):
        with pytest.raises(ConfigError, match='a column "weights"'):
            steps_mask(np.ones(y.shape[:-1], bool), y)


def test_rows_and_sequences_have_their_units_last_already():
    model = keras.Sequential([keras.Input((4, 3)), L.Conv1D(2, 1)])
    assert not has_units_last(model, (2,)) and not has_units_last(model, (4, 2))
    assert has_units_last(model, (4, 3, 2))
