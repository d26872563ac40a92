"""Keras models as predictors, against direct calls of the model."""

import pickle

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.keras import KerasPredictor
from sparkdl.interop.predictors import ArraySpec
from tests.interop.keras.live.models import numbers


def two_inputs():
    import keras

    keras.utils.set_random_seed(2)
    a, b = keras.Input((4,), name="a"), keras.Input((None,), dtype="int32", name="b")
    steps = keras.layers.Embedding(9, 4, name="steps")(b)
    both = keras.layers.Concatenate()([a, keras.layers.GlobalAveragePooling1D()(steps)])
    return keras.Model([a, b], [keras.layers.Dense(2, name="score")(both), steps])


@pytest.mark.slow
def test_names_and_shapes_are_the_models_and_so_are_the_numbers():
    predictor = KerasPredictor(two_inputs)
    assert predictor.inputs == {
        "a": ArraySpec("float32", (4,)),
        "b": ArraySpec("int32", (None,)),
    }
    assert predictor.outputs == {
        "score": ArraySpec("float32", (2,)),
        "steps": ArraySpec("float32", (None, 4)),
    }
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 4), np.float32), rng.integers(0, 9, (3, 5)).astype(np.int32)
    found = pickle.loads(pickle.dumps(predictor)).load(["score"])({"a": a, "b": b})
    expected = two_inputs()([a, b], training=False)[0]
    np.testing.assert_allclose(found["score"], numbers(expected), rtol=1e-5)


def sequential():
    import keras

    keras.utils.set_random_seed(2)
    layers = [keras.Input((4,), name="x"), keras.layers.Dense(2, name="score")]
    return keras.Sequential(layers)


def test_the_output_of_a_sequential_model_is_its_last_layers():
    predictor, x = KerasPredictor(sequential), np.ones((3, 4), np.float32)
    assert (predictor.inputs, predictor.outputs) == (
        {"x": ArraySpec("float32", (4,))},
        {"score": ArraySpec("float32", (2,))},
    )
    found = predictor.load(["score"])({"x": x})
    np.testing.assert_allclose(found["score"], numbers(sequential()(x)), rtol=1e-5)


def dicts():
    import keras

    keras.utils.set_random_seed(2)
    given = {name: keras.Input((size,), name=name) for name, size in (("b", 3), ("a", 2))}
    both = keras.layers.Concatenate()([given["b"], given["a"]])
    dense = keras.layers.Dense
    return keras.Model(given, {"o2": dense(2, name="y")(both), "o1": dense(1, name="z")(both)})


def test_inputs_and_outputs_may_be_dicts():
    predictor = KerasPredictor(dicts)
    assert predictor.inputs == {"a": ArraySpec("float32", (2,)), "b": ArraySpec("float32", (3,))}
    assert predictor.outputs == {
        "o1": ArraySpec("float32", (1,)),
        "o2": ArraySpec("float32", (2,)),
    }
    x = {"a": np.ones((4, 2), np.float32), "b": np.full((4, 3), 2, np.float32)}
    found, expected = predictor.load(["o2", "o1"])(x), dicts()(x, training=False)
    for name in ("o1", "o2"):
        np.testing.assert_allclose(found[name], numbers(expected[name]), rtol=1e-5)


def states():
    import keras

    keras.utils.set_random_seed(2)
    x = keras.Input((3, 2), name="x")
    lstm = keras.layers.LSTM(2, return_sequences=True, return_state=True, name="lstm")
    return keras.Model(x, lstm(x))


@pytest.mark.slow
def test_each_output_of_a_layer_has_a_name():
    predictor, x = KerasPredictor(states), np.ones((4, 3, 2), np.float32)
    assert [(n, len(spec.shape)) for n, spec in predictor.outputs.items()] == [
        ("lstm", 2),
        ("lstm_1", 1),
        ("lstm_2", 1),
    ]
    found = predictor.load(["lstm_1", "lstm_2"])({"x": x})
    _, h, c = states()(x, training=False)
    np.testing.assert_allclose(found["lstm_1"], numbers(h), rtol=1e-5)
    np.testing.assert_allclose(found["lstm_2"], numbers(c), rtol=1e-5)


def test_what_is_no_model_is_refused():
    with pytest.raises(ConfigError, match=r"KerasPredictor\.make"):
        KerasPredictor(dict)
