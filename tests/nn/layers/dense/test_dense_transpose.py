"""DenseTranspose: the way back by the weights of another layer."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import GraphBuilder
from sparkdl.nn.layers import Affine, Dense, DenseTranspose, EmbeddingSequence, LossLayer
from sparkdl.training.network import Network


def tied(first, last, in_shape):
    """Returns a Network in which `last` shares with `first`, and has a bias of its own."""
    build = GraphBuilder()
    build.inputs = {"x": in_shape}
    build.add(first, "x", name="first")
    build.add(last, "first", name="last", shares="first")
    build.add(Affine(scale=False), "last", name="bias")
    build.add(LossLayer(loss="mse"), "bias", name="loss")
    return Network(build.conf())


def matrix_of(network):
    views = network.conf.params_layout.views(network.state.params)
    assert sorted(views) == ["bias/beta", "first/W"]
    return views["first/W"]


@pytest.mark.slow
def test_a_decoder_has_the_weights_of_its_encoder(rng):
    plain = {"bias": False, "activation": "identity"}
    network = tied(Dense(units=3, **plain), DenseTranspose(units=5, **plain), (5,))
    W, x = matrix_of(network), rng.normal(size=(4, 5)).astype(np.float32)
    np.testing.assert_allclose(network.predict(x), x @ W @ W.T, rtol=1e-5, atol=1e-6)


def test_words_are_scored_by_their_rows_of_a_table():
    table = EmbeddingSequence(vocabulary_size=7, units=3)
    network = tied(table, DenseTranspose(units=7, bias=False, activation="identity"), (4,))
    W, ids = matrix_of(network), np.arange(8).reshape(2, 4) % 7
    scores = network.predict(ids.astype(np.float32))
    np.testing.assert_allclose(scores, W[ids] @ W.T, rtol=1e-5, atol=1e-6)


def test_a_matrix_of_another_shape_is_no_way_back():
    with pytest.raises(ConfigError, match=r"last cannot share \{'W': \(5, 3\)\} of first"):
        tied(Dense(units=3, bias=False), DenseTranspose(units=4, bias=False), (5,))
