"""Embeddings: the padding index, and errors."""

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError, DataError, ShapeError
from sparkdl.nn import NetworkConf
from sparkdl.nn.execution.forward import forward
from sparkdl.nn.layers import Embedding, EmbeddingSequence, RnnOutput
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import label, value_and_gradients

TABLE = np.arange(10.0).reshape(5, 2)
WORDS = np.array([[1, 4, 0, 0], [2, 0, 3, 0]], np.float32)


@pytest.mark.parametrize("padding", [0, 2, 4])
@pytest.mark.parametrize("mask", [None, np.array([[1, 0, 1, 1], [1, 1, 1, 0]], np.float32)])
def test_the_index_of_padding_is_masked(mask, padding):
    run = Run(training=False, seed=0, masks=(mask,))
    layer = EmbeddingSequence(vocabulary_size=5, units=2, padding_id=padding)
    np.testing.assert_array_equal(layer.forward({"W": TABLE}, WORDS, run), TABLE[WORDS.astype(int)])
    expected = np.not_equal(WORDS, padding) * (1 if mask is None else mask)
    np.testing.assert_array_equal(run.results.masks[0], expected)


def test_the_mask_reaches_the_loss():
    conf = NetworkConf(
        input_shape=(4,),
        layers=[EmbeddingSequence(vocabulary_size=5, units=2, padding_id=0), RnnOutput(units=3)],
    )
    params = {"embeddingsequence_1/W": TABLE, "rnnoutput_1/W": TABLE[:2, :1] * np.ones(3)}
    result = forward(conf, params | {"rnnoutput_1/b": np.zeros(3)}, {}, WORDS)
    np.testing.assert_array_equal(result.masks["rnnoutput_1"], WORDS > 0)


def test_a_row_gets_the_gradients_of_all_places_where_it_is_used():
    layer = EmbeddingSequence(vocabulary_size=5, units=2)

    def loss(table):
        return ops.sum(layer.forward({"W": table}, WORDS, Run(training=True, seed=0)))

    _, (grad,) = value_and_gradients(loss, TABLE)
    np.testing.assert_array_equal(grad, np.array([[4], [1], [1], [1], [1]]) * np.ones(2))


@pytest.mark.parametrize("wrong", [-1, 5, np.nan])
def test_an_index_that_is_not_there_is_named(wrong):
    x = np.array([[1.0], [wrong]])
    named = pytest.raises(DataError, match=r"an index must be in \[0, 5\), got")
    with named, np.errstate(all="ignore"):
        Embedding(vocabulary_size=5, units=2).forward({"W": TABLE}, x, Run(training=False, seed=0))


REFUSED = [
    (
        lambda: Embedding(vocabulary_size=0, units=1),
        "Embedding.vocabulary_size must be an integer >= 1, got 0",
    ),
    (
        lambda: Embedding(vocabulary_size=2**24 + 1, units=1),
        "Embedding.vocabulary_size must be at most 2^24 (16777216), as indices are float32, got "
        "16777217; an EmbeddingBag keeps ids as integers",
    ),
    (lambda: EmbeddingSequence(vocabulary_size=1, units=0), "units must be an integer >= 1, got 0"),
    (
        lambda: EmbeddingSequence(vocabulary_size=1, units=1, padding_id=-1),
        "EmbeddingSequence.padding_id must be an integer >= 0 or None, got -1",
    ),
    (
        lambda: EmbeddingSequence(vocabulary_size=1, units=1, mask_zero=True),
        "EmbeddingSequence has no field 'mask_zero'; did you mean 'padding_id'?",
    ),
    (
        lambda: EmbeddingSequence(vocabulary_size=3, units=1, padding_id=3),
        "EmbeddingSequence.padding_id must be below vocabulary_size (3), got 3",
    ),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses_options(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("layer", [Embedding, EmbeddingSequence])
def test_refuses_images(layer):
    with pytest.raises(ShapeError, match=f"{layer.__name__} takes one index per"):
        layer(vocabulary_size=2, units=1).out_shape((3, 2))


def test_the_last_index_of_the_largest_table_is_exact():
    layer = Embedding(vocabulary_size=2**24, units=1)
    table = np.zeros((2**24, 1), np.float32)
    table[-2:, 0] = 2, 1
    x = np.array([[2**24 - 1], [2**24 - 2]]).astype(np.float32)
    y = layer.forward({"W": table}, x, Run(training=False, seed=0))
    np.testing.assert_array_equal(y, [[1], [2]])
