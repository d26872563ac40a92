"""Sequences, several inputs and outputs, and weights: from the source to weights and figures."""

import numpy as np
import pytest

from sparkdl.data import Arrays, Characters, Compose, OneHot, Scale, TextSequences, pad
from sparkdl.data.batches import columns
from sparkdl.data.records.label_range import LabelRange
from sparkdl.errors import DataError
from sparkdl.nn import (
    Adam,
    Conv2D,
    Dense,
    EmbeddingSequence,
    Flatten,
    Frozen,
    GraphBuilder,
    LossLayer,
    NetworkConf,
    Output,
    Reshape,
    RnnOutput,
    Sgd,
)
from sparkdl.nn.inputs import columns as inputs
from sparkdl.nn.losses import Dice, SoftmaxCrossEntropy
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network
from tests.training.problems import averaging, branches

T, F, CLASSES = 5, 3, 4


def stepwise(**options):
    layers = [Dense(units=6, activation="tanh"), RnnOutput(units=CLASSES)]
    return NetworkConf(
        input_shape=(T, F), layers=layers, seed=2, optimizer=Sgd(learning_rate=0.5), **options
    )


def sequences(n=12, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, T + 1, n)
    return [rng.normal(size=(k, F)) for k in lengths], [
        rng.integers(0, CLASSES, k) for k in lengths
    ]


def fitted(conf, source, crew, **options):
    network = Network(conf)
    network.fit(
        source, epochs=2, master=averaging(batch_size_per_worker=12, **options), workers=crew
    )
    return network


def masked(x, y):
    padded, mask = pad(x, T)
    return Arrays({"features": padded, "mask": mask}, pad(y, T)[0])


def by_hand(network, x, y):
    """Returns -log p of each existing step's label in float64, and the best classes."""
    p = network.conf.params_layout.views(network.state.params)
    x, y = np.concatenate(x), np.concatenate(y)
    out = network.conf.output.name
    z = np.tanh(x @ p["dense_1/W"] + p["dense_1/b"]) @ p[f"{out}/W"] + p[f"{out}/b"]
    return np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y], z.argmax(axis=1)


@pytest.mark.slow
def test_padding_does_not_count(crews):
    x, y = sequences()
    network = fitted(stepwise(), masked(x, y), crews(1))
    noisy = masked(x, y)
    noisy.features["features"][noisy.features["mask"] == 0] = 77
    other = fitted(stepwise(), noisy, crews(1))
    np.testing.assert_allclose(other.state.params, network.state.params, rtol=1e-5, atol=1e-6)
    losses, best = by_hand(network, x, y)
    result = network.evaluate(masked(x, y))
    assert result.examples == sum(map(len, y))
    assert result.loss == pytest.approx(losses.mean(), rel=1e-4)
    assert result.accuracy == pytest.approx((best == np.concatenate(y)).mean())


def test_a_mask_of_labels_holds_before_that_of_features(crews):
    x, y = sequences()
    source = masked(x, y)
    only = np.zeros((len(y), T))
    only[:, 0] = 1
    first = Arrays(source.features | {"labels_mask": only}, source.labels)
    network = fitted(stepwise(), first, crews(2))
    losses, _ = by_hand(network, [s[:1] for s in x], [s[:1] for s in y])
    result = network.evaluate(first)
    assert result.examples == len(y)
    assert result.loss == pytest.approx(losses.mean(), rel=1e-4)


def padded_by_hand(network, source):
    """Returns these losses for all steps of each record as (n, T), padding included."""
    x, y = source.features["features"], source.labels
    losses, _ = by_hand(network, list(x), list(y))
    return losses.reshape(y.shape)


@pytest.mark.parametrize("alike", [False, True], ids=["some records", "all records"])
def test_a_full_mask_of_labels_holds_before_that_of_features(crews, alike):
    """Other records in the minibatch may lack a mask of their own."""
    x, y = sequences()
    source = masked(x, y)
    own = np.ones((len(y), T))
    if not alike:
        own[::2] = -1
    given = Arrays(source.features | {"labels_mask": own}, source.labels)
    counted = np.where(own == 1, 1, source.features["mask"])
    network = fitted(stepwise(), given, crews(2))
    columns = {"features": source.features["features"], "labels_mask": counted}
    wanted = Arrays(columns, source.labels)
    same = fitted(stepwise(), wanted, crews(2))
    np.testing.assert_allclose(network.state.params, same.state.params, rtol=1e-5, atol=1e-6)
    losses, result = padded_by_hand(network, source), network.evaluate(given)
    assert result.examples == counted.sum() > source.features["mask"].sum()
    assert result.loss == pytest.approx((losses * counted).sum() / counted.sum(), rel=1e-4)


def test_codes_become_vectors_in_the_worker(crews):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, F, (12, T), dtype=np.uint8)
    y = rng.integers(0, CLASSES, (12, T))
    small = Arrays(codes, y, transform=OneHot(classes=F))
    large = Arrays(np.eye(F)[codes], y)
    one, two = (fitted(stepwise(), source, crews(2)).state.params for source in (small, large))
    np.testing.assert_array_equal(one, two)


def test_classes_and_one_hot_labels_are_the_same_to_either_loss():
    x, y = np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 1, 2]], np.array([2, 0, 2, 1, 1, 0])
    found = []
    for loss in (SoftmaxCrossEntropy(), SoftmaxCrossEntropy(labels="one_hot")):
        network = Network(NetworkConf(input_shape=(3,), layers=[Output(units=3, loss=loss)]))
        for labels in (y, np.eye(3)[y]):
            figures = network.evaluate((x, labels))
            found.append((figures.loss, figures.accuracy))
    np.testing.assert_allclose(found, np.tile(found[0], (4, 1)), rtol=1e-5)


@pytest.mark.parametrize("width", [CLASSES, 5])
def test_classes_of_pixels_are_no_one_hot_labels_whatever_the_width(width):
    """They would be taken for (H, W, classes); one-hot labels of images are (classes, H, W)."""
    layers = [
        Conv2D(filters=CLASSES, kernel_size=1),
        LossLayer(loss=SoftmaxCrossEntropy(labels="one_hot")),
    ]
    network = Network(NetworkConf(input_shape=(1, 2, width), layers=layers))
    x, y = np.ones((3, 1, 2, width)), np.ones((3, 2, width), int)
    with pytest.raises(DataError, match=f"must have {2 * width * CLASSES} numbers"):
        network.evaluate((x, y))


@pytest.mark.parametrize("one_hot", [True, False])
def test_a_text_is_learned(crews, tmp_path, one_hot):
    """In abcabc... each character predicts the next one."""
    (tmp_path / "abc.txt").write_text("abc" * 200)
    options = {"steps": 10, "one_hot": one_hot, "records_per_split": 8}
    path, characters = str(tmp_path / "abc.txt"), Characters("abc")
    layers = [] if one_hot else [EmbeddingSequence(vocabulary_size=3, units=6)]
    layers += [Dense(units=6, activation="tanh"), RnnOutput(units=3)]
    shape = (10, 3 if one_hot else 1)
    conf = NetworkConf(input_shape=shape, layers=layers, seed=2, optimizer=Adam(learning_rate=0.1))
    network = Network(conf)
    train = TextSequences(path, characters, part=(0, 0.8), **options)
    network.fit(train, epochs=8, master=averaging(batch_size_per_worker=8), workers=crews(2))
    result = network.evaluate(TextSequences(path, characters, part=(0.8, 1), **options))
    assert result.examples == 120 and result.accuracy == 1 and result.loss < 0.5


def test_several_inputs_and_outputs(crews):
    rng = np.random.default_rng(0)
    x = {"left": rng.normal(size=(20, 2)), "right": rng.integers(0, 9, (20, 3), dtype=np.uint8)}
    y = {"kind": rng.integers(0, 2, 20), "size": rng.normal(size=20)}
    scaled = Compose(Scale(column="right", factor=0.1))
    network = fitted(branches(), Arrays(x, y, transform=scaled), crews(2))
    same = Arrays(x | {"right": x["right"] * np.float32(0.1)}, y)
    other = fitted(branches(), same, crews(2))
    np.testing.assert_array_equal(network.state.params, other.state.params)
    assert network.evaluate(same).examples == 20
    assert network.predict(same.features).shape == (20, 2)
    with pytest.raises(DataError, match="has no column 'right'"):
        network.evaluate(Arrays({"left": x["left"]}, y))


def test_weights_are_factors_of_losses(crews):
    """An example of weight 2 equals two copies, if the batch size stays the same."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, F)), rng.integers(0, CLASSES, 6)
    conf = NetworkConf(input_shape=(F,), layers=[Output(units=CLASSES)], seed=1)
    weights = [2, 0, 1, 1, 2, 0]
    order = [0, 0, 2, 3, 4, 4]
    one = fitted(conf, Arrays({"features": x, "weights": weights}, y), crews(1))
    two = fitted(conf, Arrays(x[order], y[order]), crews(1))
    np.testing.assert_allclose(one.state.params, two.state.params, rtol=1e-5, atol=1e-7)


def test_schemas_say_what_networks_take():
    schema = schema_of(stepwise())
    assert schema.inputs == {"features": (T, F)}
    assert schema.masks == {"features": "mask", "labels": "labels_mask"}
    assert schema.outputs["labels"].shape == (T,) and schema.outputs["labels"].size == CLASSES
    assert schema_of(stepwise(), labels=False).masks == {"features": "mask"}
    assert schema_of(branches(), labels=False).unread == {"kind", "size"}
    assert not schema_of(branches()).unread
    schema = schema_of(branches())
    assert schema.inputs == {"left": (2,), "right": (3,)}
    assert {n: (o.kind, o.size) for n, o in schema.outputs.items()} == {
        "kind": ("class", 2),
        "size": ("values", 1),
    }


STEPWISE_IDS = EmbeddingSequence(vocabulary_size=9, units=3)


@pytest.mark.parametrize(
    "layer, expected",
    [
        (STEPWISE_IDS, {"features": "mask"}),
        (Frozen(layer=STEPWISE_IDS), {"features": "mask"}),
        (Reshape(shape=(T, 1)), {}),
        (Dense(units=4), {}),
    ],
    ids=["ids", "frozen ids", "a row that is reshaped", "a row"],
)
def test_a_row_has_steps_where_it_is_ids_of_a_sequence(layer, expected):
    layers = [layer, Flatten(), Output(units=CLASSES)]
    assert schema_of(NetworkConf(input_shape=(T,), layers=layers)).masks == expected


def test_data_and_networks_mean_the_same_by_no_mask():
    assert columns.NO_MASK == inputs.NO_MASK


def answers_of(transform=None, losses=("sigmoid_cross_entropy",)):
    """Returns the Label of a column that outputs with these losses share."""
    build = GraphBuilder()
    build.inputs = {"features": (2,)}
    outputs = [Output(units=1, loss=loss, labels="answer") for loss in losses]
    for output in outputs:
        build.add(output, "features")
    return schema_of(build.conf(seed=1), transform=transform).outputs["answer"]


def test_labels_have_the_ranges_of_their_losses():
    """Labels that a transform may change are not known before it."""
    scaled = Scale(factor=1 / 255, column="answer")
    signs = LabelRange("hinge", -1, 1, has_between=False)
    shares = LabelRange("sigmoid_cross_entropy", 0, 1, may_ignore=True)
    assert answers_of().ranges == (shares,) and answers_of().are_shares
    assert answers_of(losses=["hinge"]).ranges == (signs,)
    assert answers_of(losses=["hinge", "sigmoid_cross_entropy", "mse"]).ranges == (signs, shares)
    assert answers_of(losses=[Dice(labels="masks")]).ranges == (LabelRange("dice", 0, 1),)
    assert answers_of(losses=["poisson"]).ranges == (LabelRange("poisson", 0),)
    assert answers_of(losses=["mse"]).ranges == answers_of(scaled).ranges == ()
    assert answers_of(Scale(factor=1 / 255)).ranges == (shares,)
    assert answers_of() == answers_of(losses=["hinge"])  # records are stored alike
