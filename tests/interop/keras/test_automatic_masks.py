"""Functional models whose masks Keras passes on by itself, against Keras; others are refused."""

import json

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras import read_keras
from sparkdl.nn import NetworkConf
from sparkdl.nn.layers import Conv1D, EmbeddingSequence, RnnOutput
from sparkdl.training.network import Network
from tests.interop.keras.models import answer, chain, draw_weights, drawn, keras, train
from tests.interop.keras.test_gradients import RATE, moved_by_keras
from tests.interop.keras.test_writing import again
from tests.support.tables import for_all

L, STEPS = keras.layers, 7
WORDS, NUMBERS = (STEPS,), (STEPS, 3)


def embedding():
    return L.Embedding(9, 4, mask_zero=True)


def rnn(units, **options):
    return L.SimpleRNN(units, return_sequences=True, **options)


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


def pair(kind, **options):
    """Returns a function that joins a sequence and another with the same mask."""
    return lambda x: kind(**options)([x, L.Dense(4, activation="tanh")(x)])


def steps(x, *layers):
    """Returns what layers make of a sequence, one after the other."""
    return keras.Sequential([keras.Input(x.shape[1:]), *layers])(x)


def last(x, *layers):
    """Returns the last state of an LSTM, which asks the mask, behind layers."""
    return steps(x, *layers, L.LSTM(3))


ON = {  # functions of a masked sequence: the mask goes on, or ends where Keras loses it
    "sum": lambda x: L.LSTM(3)(pair(L.Add)(x)),
    "difference": lambda x: L.LSTM(3)(pair(L.Subtract)(x)),
    "mean": lambda x: L.GlobalAveragePooling1D()(pair(L.Average)(x)),
    "product": lambda x: L.LSTM(3)(pair(L.Multiply)(x)),
    "maximum": lambda x: L.LSTM(3)(pair(L.Maximum)(x)),
    "minimum": lambda x: L.LSTM(3)(pair(L.Minimum)(x)),
    "features": lambda x: L.LSTM(3)(pair(L.Concatenate)(x)),
    "more steps": lambda x: L.LSTM(3)(pair(L.Concatenate, axis=1)(x)),
    "steps before": lambda x: L.LSTM(3)(L.Concatenate(axis=1)([L.Conv1D(4, 2)(x), x])),
    "behind a sum": lambda x: L.LSTM(3)(L.Add()([pair(L.Add)(x), x])),
    "both ways": lambda x: L.LSTM(3)(L.Add()([L.Bidirectional(rnn(2))(x), x])),
    "rows": lambda x: steps(x, L.Flatten(), L.Dense(2)),
    "one row": lambda x: steps(x, L.Reshape((-1,)), L.Dense(2)),
    "other steps": lambda x: last(x, L.Reshape((4, 7))),
    "axes": lambda x: last(x, L.Permute((2, 1))),
    "convolution": lambda x: last(x, L.Conv1D(3, 2, padding="same")),
    "separable": lambda x: last(x, L.SeparableConv1D(3, 2)),
    "transposed": lambda x: last(x, L.Conv1DTranspose(3, 2)),
    "pooling": lambda x: last(x, L.MaxPooling1D(2, strides=1, padding="same")),
    "largest": lambda x: steps(x, L.GlobalMaxPooling1D()),
    "padding": lambda x: last(x, L.ZeroPadding1D(1)),
    "cropping": lambda x: last(x, L.Cropping1D((1, 2))),
    "twice": lambda x: last(x, L.UpSampling1D(2)),
    "root mean square": lambda x: last(x, L.RMSNormalization()),
    "the same layer, with and without": lambda x: same_layer(L.Conv1D(4, 2, padding="same"), x),
    "zeros": lambda x: steps(x, rnn(3, zero_output_for_mask=True), L.Flatten()),
}


def same_layer(layer, x):
    """Returns rows of what a layer makes of a masked sequence, and of its result."""
    return L.Flatten()(layer(layer(x)))


def of_words(connect, nested=False):
    """Returns a model of a masked sequence; the file of a nested one has no operations."""
    x, y = keras.Input(WORDS), keras.Input((STEPS, 4))
    embedded = embedding()(x)
    outputs = keras.Model(y, connect(y))(embedded) if nested else connect(embedded)
    return draw_weights(keras.Model(x, outputs))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
def test_masks_go_on_and_end_as_in_keras(tmp_path):
    def check(name):
        for nested in (False, True):
            model, x = of_words(ON[name], nested), features(WORDS, 0)
            x[1, 2:5], x[4, 0] = [0, 3, 0], 0
            net, wanted = read_keras(model), answer(model, x)
            np.testing.assert_allclose(net.run(x), wanted, rtol=1e-4, atol=1e-5)
            assert net.notes == ()
            back = again(net.network, tmp_path, net.outputs)
            np.testing.assert_allclose(answer(back, x), wanted, rtol=1e-4, atol=1e-5)

    for_all(ON, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
def test_training_behind_masks_is_that_of_keras():
    def check(name):
        model = of_words(ON[name])
        model.compile(keras.optimizers.SGD(RATE), "mse")
        x, y = features(WORDS, 0), drawn(3, 5, *model.output_shape[1:])
        network = read_keras(model).network
        train(network, x, y, 1)
        moved_by_keras(model, x, y)
        moved = read_keras(model).network.state.params
        np.testing.assert_allclose(network.state.params, moved, rtol=1e-4, atol=1e-5)

    for_all(["sum", "product", "more steps", "convolution", "root mean square", "rows"], check)


def other():
    return L.Embedding(9, 4)


def attention(x):
    return L.MultiHeadAttention(2, 2)(x, x)


REFUSED = {  # functions of a masked sequence and of words
    "add": lambda x, words: L.Add()([x, other()(words)]),
    "concatenate": lambda x, words: L.Concatenate()([x, other()(words)]),
    "multiply": lambda x, words: L.Multiply()([x, L.Masking()(other()(words))]),
    "multi_head_attention": lambda x, words: attention(x),
    "flatten": lambda x, words: L.Flatten()(rnn(3)(x)),
    "conv1d": lambda x, words: L.Conv1D(2, 2)(pair(L.Multiply)(x)),
    "global_max_pooling1d": lambda x, words: L.GlobalMaxPooling1D()(pair(L.Maximum)(rnn(4)(x))),
    "reshape": lambda x, words: L.Reshape((7, 4))(x),
    "cropping1d": lambda x, words: L.Cropping1D(0)(x),
    "time_distributed": lambda x, words: L.TimeDistributed(L.Reshape((2, 2)))(x),
}


@pytest.mark.filterwarnings("ignore:Layer .* was passed an input with a mask")
def test_masks_that_keras_treats_otherwise_are_refused_by_name():
    def check(name):
        keras.backend.clear_session()
        x = keras.Input(WORDS)
        model = keras.Model(x, REFUSED[name](embedding()(x), x))
        with pytest.raises(UnsupportedError, match=rf"{name} \(.*mask.* not supported"):
            read_keras(model.to_json())

    for_all(REFUSED, check)


def test_a_layer_of_ours_that_asks_a_mask_which_keras_loses_is_not_written(tmp_path):
    """Where a file is read, vertices that lose the mask are added; such a network has none."""
    words = EmbeddingSequence(vocabulary_size=9, units=4, padding_id=0)
    layers = [words, Conv1D(name="conv", filters=2, kernel_size=2), RnnOutput(units=3)]
    network = Network(NetworkConf(input_shape=(STEPS,), layers=layers))
    with pytest.raises(UnsupportedError, match="conv .*: Conv1D of a sequence with a mask is not"):
        again(network, tmp_path)


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
