"""Id features: the network knows its vocabulary and refuses ids outside it."""

import numpy as np
import pytest

from sparkdl.data import Arrays, Compose, Scale
from sparkdl.errors import DataError
from sparkdl.nn import (
    LSTM,
    Dense,
    Embedding,
    EmbeddingSequence,
    Flatten,
    Frozen,
    GraphBuilder,
    Merge,
    NetworkConf,
    Output,
    TimeDistributed,
)
from sparkdl.training.inputs.schema import common_schema, schema_of
from sparkdl.training.inputs.vocabularies import vocabularies_of
from sparkdl.training.network import Network

T = 5
ONE = Embedding(vocabulary_size=10, units=4)
SEVERAL = EmbeddingSequence(vocabulary_size=10, units=4)
KNOWN = {"features": 10}


class Shifted(EmbeddingSequence):
    """An EmbeddingSequence whose ids start at 1."""

    def forward(self, params, x, run):
        return super().forward(params, x - 1, run)


def network(layer, shape=(T,), **options):
    return NetworkConf(input_shape=shape, layers=[layer, Flatten(), Output(units=2)], **options)


@pytest.mark.parametrize(
    "layer, shape, expected",
    [
        (ONE, (1,), KNOWN),
        (SEVERAL, (T,), KNOWN),
        (SEVERAL, (T, 1), KNOWN),
        (Frozen(layer=SEVERAL), (T,), KNOWN),
        (TimeDistributed(layer=ONE), (T, 1), KNOWN),
        (TimeDistributed(layer=Frozen(layer=SEVERAL)), (2, T), KNOWN),
        (Shifted(vocabulary_size=10, units=4), (T,), {}),
        (Dense(units=4), (T,), {}),
    ],
    ids=["one", "several", "a column", "frozen", "each step", "both", "own class", "no ids"],
)
def test_networks_know_their_vocabularies(layer, shape, expected):
    assert schema_of(network(layer, shape)).vocabularies == expected


def test_ids_behind_a_layer_are_no_features():
    conf = NetworkConf(
        input_shape=(T,), layers=[Dense(units=T), SEVERAL, Flatten(), Output(units=2)]
    )
    assert vocabularies_of(conf) == {}


def branches():
    build = GraphBuilder(user=(1,), words=(T,), image=(3,))
    build.add(ONE, "user", name="a")
    build.add(SEVERAL, "words", name="long")
    build.add(EmbeddingSequence(vocabulary_size=7, units=4), "words", name="short")
    build.add(Flatten(), "long", name="b")
    build.add(Flatten(), "short", name="c")
    build.add(Merge(), "a", "b", "c", "image", name="all")
    build.add(Output(units=2), "all", name="kind")
    return build.conf(seed=3)


TRANSFORMS = [
    (None, {"user": 10, "words": 7}),
    (Scale(column="image", factor=0.1), {"user": 10, "words": 7}),
    (Compose(Scale(column="image"), Scale(column="user")), {"words": 7}),
    (lambda batch: batch, {}),
]


@pytest.mark.parametrize("transform, expected", TRANSFORMS, ids=["none", "other", "two", "any"])
def test_columns_that_a_transform_may_change_are_left_to_the_layers(transform, expected):
    assert vocabularies_of(branches(), transform) == expected


def test_networks_of_other_vocabularies_take_the_same_records():
    one, other = network(SEVERAL), network(EmbeddingSequence(vocabulary_size=99, units=4))
    assert schema_of(one) != schema_of(other) and common_schema(one) == common_schema(other)
    assert common_schema(one) != common_schema(network(SEVERAL, (T, 1)))


RANGE = (
    r"features must be ids in \[0, 10\), got 10 at 2; vocabulary_size must be 11 for it at least"
)
WHOLE = "features must be whole numbers, as they are ids, got 1.5 at 2"
WAYS = {
    "fit": lambda net, x, y: net.fit((x, y), epochs=1),
    "full batch": lambda net, x, y: net.fit_full_batch((x, y)),
    "validation": lambda net, x, y: net.fit((x * 0, y), epochs=1, validation=(x, y)),
    "predict": lambda net, x, y: net.predict(x),
    "evaluate": lambda net, x, y: net.evaluate((x, y)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong, message", [(10, RANGE), (1.5, WHOLE)], ids=["range", "whole"])
def test_a_wrong_id_is_found_before_anything_is_computed(way, wrong, message):
    x, y = np.ones((300, T)), np.zeros(300)
    x[299, 2] = wrong
    net = Network(network(SEVERAL))
    before = net.state.params.copy()
    with pytest.raises(DataError, match=f"partition 1, record 43: {message}"):
        WAYS[way](net, x, y)
    np.testing.assert_array_equal(net.state.params, before)


def test_ids_of_padding_are_looked_up_as_others():
    """Padding is zeros behind a sequence, or steps that the mask excludes."""
    layers = [EmbeddingSequence(vocabulary_size=10, units=4, padding_id=0), LSTM(units=3)]
    net = Network(NetworkConf(input_shape=(T,), layers=[*layers, Flatten(), Output(units=2)]))
    short, padded = np.array([[9, 1, 2]]), np.array([[9, 1, 2, 0, 0]])
    masked = {"features": np.array([[9, 1, 2, 7, 7.0]]), "mask": np.array([[1, 1, 1, 0, 0]])}
    np.testing.assert_array_equal(net.predict(short), net.predict(padded))
    np.testing.assert_allclose(net.predict(masked), net.predict(padded), rtol=1e-6)


def test_what_a_transform_makes_is_left_to_the_layer():
    conf = network(SEVERAL)
    source = Arrays(np.full((4, T), 90.0), np.zeros(4), transform=Scale(factor=0.1))
    assert Network(conf).evaluate(source).examples == 4
