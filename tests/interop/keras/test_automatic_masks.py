"""Functional models whose masks Keras passes on by itself, against Keras; others are refused."""

import json

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras import read_keras
from tests.interop.keras.models import answer, chain, drawn, keras
from tests.support.tables import for_all

L, STEPS = keras.layers, 7
WORDS, NUMBERS = (STEPS,), (STEPS, 3)


def embedding():
    return L.Embedding(9, 4, mask_zero=True)


MASKED = {  # (shape of an input, layers)
    "words": (WORDS, lambda: [embedding(), L.LSTM(3)]),
    "words, two layers": (WORDS, lambda: [embedding(), L.LSTM(3, return_sequences=True), L.GRU(2)]),
    "words, dropped out": (WORDS, lambda: [embedding(), L.Dropout(0.5), L.GRU(3)]),
    "words, steps": (WORDS, lambda: [embedding(), L.TimeDistributed(L.Dense(3)), L.LSTM(2)]),
    "words, mean": (WORDS, lambda: [embedding(), L.GlobalAveragePooling1D()]),
    "numbers": (NUMBERS, lambda: [L.Masking(), L.GRU(3)]),
    "numbers, another padding": (NUMBERS, lambda: [L.Masking(0.5), L.LSTM(3)]),
    "numbers, both ways": (NUMBERS, lambda: [L.Masking(), L.Bidirectional(L.LSTM(3))]),
}


def features(shape, padding):
    """Returns 5 examples, of which each has another number of steps."""
    rng = np.random.default_rng(3)
    size = (5, *shape)
    x = rng.integers(1, 9, size).astype("f4") if shape == WORDS else drawn(2, *size)
    for row, length in enumerate([7, 1, 4, 2, 5]):
        x[row, length:] = padding
    return x


def functional(layers, shape):
    """Returns a model whose file holds the operations of its masks."""
    model = chain(*layers, L.Dense(2), shape=shape)
    return keras.Model(model.inputs, model.outputs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
def test_masks_that_keras_passes_on(tmp_path):
    def check(name):
        shape, make = MASKED[name]
        model, path = functional(make(), shape), tmp_path / "model.keras"
        assert "NotEqual" in model.to_json()
        model.save(path)
        padding = 0.5 if "another" in name else 0
        x = features(shape, padding)
        wanted, whole = answer(model, x), answer(model, np.where(x == padding, 1, x))
        np.testing.assert_allclose(read_keras(path).run(x), wanted, rtol=1e-4, atol=1e-5)
        assert not np.allclose(whole, wanted, atol=1e-3), "masks change nothing"

    for_all(MASKED, check)


def given(make_mask, masked=True, layer=L.GRU):
    """Returns a model of words that gives a mask of its own to a layer."""
    x = keras.Input(WORDS)
    embedded = L.Embedding(9, 4, mask_zero=masked)(x)
    return keras.Model(x, layer(3)(embedded, mask=make_mask(x)))


def shown():
    """Returns a model that also gives its mask."""
    x = keras.Input(WORDS)
    mask = keras.ops.not_equal(x, 0)
    return keras.Model(x, [L.GRU(3)(embedding()(x), mask=mask), mask])


OTHERS = {
    "no mask is passed on": lambda: given(lambda x: keras.ops.not_equal(x, 0), masked=False),
    "of another padding": lambda: given(lambda x: keras.ops.not_equal(x, 1)),
    "of another operation": lambda: given(lambda x: keras.ops.greater(x, 0)),
    "of other words": lambda: given(lambda x: keras.ops.not_equal(x[:, ::-1], 0)),
    "an output, too": shown,
}


@pytest.mark.slow
def test_other_masks_are_refused():
    def check(name):
        with pytest.raises(UnsupportedError, match="is not supported"):
            read_keras(OTHERS[name]().to_json())

    for_all(OTHERS, check)


def test_a_mask_of_a_layer_that_the_model_lacks_is_refused():
    """It was dropped where our tensor has none: the network then read all steps."""
    text = given(lambda x: keras.ops.not_equal(x, 0), masked=False).to_json()
    document = json.loads(text)
    layers = document["config"]["layers"]
    [mask] = [layer["name"] for layer in layers if layer["class_name"] == "NotEqual"]
    document["config"]["layers"] = [layer for layer in layers if layer["name"] != mask]
    with pytest.raises(UnsupportedError, match="a mask given in a call is not supported"):
        read_keras(json.dumps(document))


def test_the_mask_of_its_words_may_be_given():
    model, x = given(lambda x: keras.ops.not_equal(x, 0)), features(WORDS, 0)
    np.testing.assert_allclose(read_keras(model).run(x), answer(model, x), rtol=1e-4, atol=1e-5)
