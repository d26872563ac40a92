"""Which arrays of a model are trained, against Keras."""

import json

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras import read_keras
from sparkdl.interop.keras.graph import GraphTranslation
from sparkdl.nn.layers import Frozen
from tests.interop.keras.models import answer, chain, drawn, keras, train
from tests.interop.keras.test_gradients import RATE, moved_by_keras
from tests.support.tables import for_all

L = keras.layers
STEPS = (6, 4)


def thawed(layer, inside):
    """Freezes a layer and everything inside it except one layer."""
    layer.trainable = False
    inside(layer).trainable = True
    return layer


def nested():
    model = keras.Sequential([L.Dense(3), L.Dense(2)])
    model.build((None, *STEPS))
    return model


MODELS = {
    "a layer": lambda: [L.Dense(3, trainable=False)],
    "steps, inside": lambda: [L.TimeDistributed(L.Dense(3, trainable=False))],
    "steps of two directions, inside": lambda: [
        L.Reshape((3, 2, 4)),
        L.TimeDistributed(L.Bidirectional(L.LSTM(2, trainable=False))),
    ],
    "two directions, inside": lambda: [L.Bidirectional(L.LSTM(2, trainable=False))],
    "two directions, the word of the outer one": lambda: [
        L.Bidirectional(L.LSTM(2), trainable=False)
    ],
    "steps, thawed inside": lambda: [thawed(L.TimeDistributed(L.Dense(3)), lambda x: x.layer)],
    "a model, thawed inside": lambda: [thawed(nested(), lambda x: x.layers[-1])],
}


def built(name):
    layers = MODELS[name]()
    return chain(*layers, L.Flatten(), L.Dense(2), shape=STEPS)


def check_step(model):
    """Checks that one update changes all arrays as in Keras."""
    model.compile(keras.optimizers.SGD(RATE), "mse")
    x, y = drawn(2, 3, *STEPS), drawn(3, 3, 2)
    ours = read_keras(model).network
    train(ours, x, y, 1)
    moved_by_keras(model, x, y)
    theirs = read_keras(model).network.state.params
    np.testing.assert_allclose(ours.state.params, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_what_keras_trains_is_trained():
    for_all(MODELS, lambda name: check_step(built(name)))


@pytest.mark.parametrize("functional", [False, True])
def test_a_model_that_is_frozen_trains_nothing(functional):
    model = built("a layer")
    model = keras.Model(model.inputs, model.outputs) if functional else model
    check_step(thawed(model, lambda x: x.layers[-1]))


@pytest.mark.slow
def test_keras_2_asks_all_that_is_around_a_layer():
    document = json.loads(built("two directions, the word of the outer one").to_json())
    for version, frozen in (("2.4.0", True), ("3.0.0", False)):
        text = json.dumps(document | {"keras_version": version})
        first = read_keras(text).network.conf.vertices[0].layer
        assert isinstance(first, Frozen) == frozen


def test_directions_of_which_one_is_frozen_are_refused():
    back = L.LSTM(2, go_backwards=True, trainable=False)
    layer = L.Bidirectional(L.LSTM(2), backward_layer=back)
    model = keras.Sequential([keras.Input(STEPS), layer])
    with pytest.raises(UnsupportedError, match="a backward_layer of its own"):
        read_keras(model.to_json())


def test_a_mask_given_by_its_place_is_refused():
    """It was dropped: the network then attended to all steps."""
    x, mask = keras.Input(STEPS), keras.Input(STEPS[:1], dtype="bool")
    model = keras.Model([x, mask], L.MultiHeadAttention(2, 2)(x, x, x, mask))
    with pytest.raises(UnsupportedError, match="a mask is not supported"):
        read_keras(model.to_json())


def test_a_mask_that_the_model_computes_is_refused():
    """It was dropped: the network then read all steps."""
    x, mask = keras.Input(STEPS), keras.Input(STEPS[:1], dtype="bool")
    model = keras.Model([x, mask], L.GRU(3)(x, mask=mask))
    with pytest.raises(UnsupportedError, match="a mask given in a call is not supported"):
        read_keras(model.to_json())


def test_training_in_a_call_is_refused_or_noted():
    """Such a dropout also acts in predictions, or never."""
    x = keras.Input(STEPS)
    model = keras.Model(x, L.Dropout(0.5)(x, training=True))
    with pytest.raises(UnsupportedError, match="dropout.*: a call with training=True"):
        read_keras(model.to_json())
    inner = keras.Sequential([x, L.Dense(3), L.BatchNormalization()], name="base")
    model = keras.Model(x, inner(x, training=False))
    assert read_keras(model.to_json()).notes == (
        "base trains, although its call has training=False",
    )
    inner.trainable = False
    assert read_keras(model.to_json()).notes == ()


RANDOM_INSIDE = {
    "words of an LSTM": lambda: L.LSTM(3, dropout=0.5),
    "states of a GRU": lambda: L.Bidirectional(L.GRU(3, recurrent_dropout=0.5)),
    "attention": lambda: L.MultiHeadAttention(2, 2, dropout=0.5),
}


def test_dropout_that_is_an_option_is_noted():
    """Layers with such options act in training as Dropout does; no note was given."""

    def check(name):
        layer, x = RANDOM_INSIDE[name](), keras.Input(STEPS)
        y = layer(x, x) if name == "attention" else layer(x)
        inner = keras.Model(x, y, name="base")
        model = keras.Model(x, L.Activation("relu")(inner(x, training=False)))
        graph = GraphTranslation(3, {})
        graph.model(json.loads(model.to_json()))
        assert graph.notes == ["base trains, although its call has training=False"]

    for_all(RANDOM_INSIDE, check)


def test_a_training_that_keras_writes_itself_is_not_noted():
    """Keras writes training=False, the default of some layers, for calls that say nothing."""
    x = keras.Input(STEPS)
    model = keras.Model(x, L.Dense(2)(L.LSTM(3)(L.Dropout(0.5)(x))))
    assert '"training": false' in model.to_json()
    assert read_keras(model.to_json()).notes == ()


def test_nested_models_may_be_outputs():
    """Keras counts their calls from 1 in the outputs; reading ended in an AttributeError."""
    x, z = keras.Input(STEPS), keras.Input(STEPS)
    inner = keras.Model(z, L.Dense(3)(z))
    model = keras.Model(x, [inner(x), inner(L.Rescaling(2.0)(x))])
    x = drawn(2, 3, *STEPS)
    for ours, theirs in zip(read_keras(model).run(x), answer(model, x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
