"""A page shows an example as its picture, its text, or its first numbers."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from sparkdl.data import Batch
from sparkdl.nn import Dense, Flatten, NetworkConf, Output
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.losses import SoftmaxCrossEntropy
from sparkdl.training.evaluation.batch_evaluation import pieces
from sparkdl.training.evaluation.wrong_records import (
    SIDE,
    WrongRecords,
    numbers,
    picture,
    shorten,
    text_of_columns,
)


def most_wrong(replica, records, most, texts=None, labels=None):
    wrong = WrongRecords(replica.conf, most, labels)
    for batch in pieces(records, None, replica.conf):
        wrong.add(batch, *replica.losses(batch), batch.ids)
    return wrong.examples(texts)


def pixels(uri):
    kind, content = uri.split(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))


def test_a_picture_goes_from_black_to_white():
    x = np.array([[[-1.0, 0.0], [0.5, 1.0]]])
    np.testing.assert_array_equal(pixels(picture(x)), [[0, 128], [191, 255]])


def test_a_large_picture_is_made_small_and_keeps_its_shape(rng):
    assert pixels(picture(rng.integers(0, 255, (3, 300, 150)))).shape == (SIDE, SIDE // 2, 3)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_picture_of_nothing_is_one(value):
    assert (pixels(picture(np.full((1, 2, 2), value))) == 0).all()


def test_numbers_and_texts_are_cut():
    assert numbers(np.array([0.5, 2])) == "0.5, 2" and numbers(np.array(3)) == "3"
    assert numbers(np.arange(13)).endswith("11, ... (13 numbers)")
    assert shorten("a" * 301) == "a" * 300 + "..." and shorten("a") == "a"
    assert text_of_columns({"age": np.array(3), "x": np.arange(2)}) == "age 3; x 0, 1"


def test_images_have_pictures_and_texts_take_their_place(rng):
    conf = NetworkConf(input_shape=(1, 4, 4), layers=[Flatten(), Output(units=3)])
    records = Batch.of(rng.normal(size=(600, 1, 4, 4)).astype(np.float32), rng.integers(0, 3, 600))
    replica = Replica(conf)
    found = most_wrong(replica, records, 4)
    assert [pixels(one.image).shape for one in found] == [(4, 4)] * 4
    losses = replica.losses(records)[1]
    assert [one.number for one in found] == np.argsort(-losses)[:4].tolist()
    texts = [f"text {n}" for n in range(600)]
    told = most_wrong(replica, records, 4, texts)
    assert [(one.text, one.image) for one in told] == [(texts[one.number], "") for one in found]


@pytest.mark.parametrize("ignored", [-1, 255])
def test_labels_that_the_loss_ignores_are_not_wrong(ignored):
    loss = SoftmaxCrossEntropy(ignore_label=ignored)
    conf = NetworkConf(input_shape=(2,), layers=[Output(units=2, loss=loss)])
    labels = np.array([0, ignored, 1], np.int32)
    records = Batch.of(np.ones((3, 2), np.float32), labels)
    found = most_wrong(Replica(conf), records, 3, labels=["no", "yes"])
    assert sorted((one.number, one.truth) for one in found) == [(0, "no"), (2, "yes")]


def test_values_stand_beside_values(rng):
    layers = [Dense(units=4), Output(units=1, loss="mse")]
    conf = NetworkConf(input_shape=(2,), layers=layers)
    x = rng.normal(size=(20, 2)).astype(np.float32)
    records = Batch.of(x, (3 * x[:, :1]).astype(np.float32))
    replica = Replica(conf)
    [one] = most_wrong(replica, records, 1)
    predictions, losses = replica.losses(records)
    assert one.number == losses.argmax() and one.loss == pytest.approx(losses.max())
    assert one.truth == f"{records.labels[one.number, 0]:.4g}"
    assert one.prediction == f"{predictions[one.number, 0]:.4g}"
