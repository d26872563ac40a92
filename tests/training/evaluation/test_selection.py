"""Losses over whole sequences and whole images, from records to evaluation."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.batches.batch import record_ids
from sparkdl.nn import (
    LSTM,
    Adam,
    AddedLoss,
    Conv1D,
    Conv2D,
    Dense,
    EmbeddingSequence,
    LossLayer,
    Masking,
    NetworkConf,
    Output,
    RnnOutput,
)
from sparkdl.nn.layers.outputs.base import REDUCTIONS
from sparkdl.nn.losses import Ctc, Yolo2, best_path
from sparkdl.training.evaluation import MeanLoss
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network

MASTER = ParameterAveraging(batch_size_per_worker=8, averaging_frequency=1)


@pytest.mark.slow
def test_ctc_learns_to_read(rng, crews):
    # a one-hot class, shown for two steps at a time; class 0 is the separator
    words = [[1, 2], [2, 1], [1, 1], [2]] * 6
    labels = np.full((len(words), 2), -1)
    x = np.zeros((len(words), 8, 3), np.float32)
    for i, word in enumerate(words):
        labels[i, : len(word)] = word
        x[i, :, 0] = 1
        for at, letter in enumerate(word):
            x[i, 4 * at + 1 : 4 * at + 3] = np.eye(3)[letter]
    layers = [Dense(units=3), LossLayer(loss=Ctc(label_length=2))]
    conf = NetworkConf(input_shape=(8, 3), layers=layers, optimizer=Adam(learning_rate=0.1))
    network = Network(conf)
    before = network.score((x, labels))
    network.fit((x, labels), 15, MASTER, crews(2))
    evaluation = network.evaluate((x, labels))
    assert type(evaluation) is MeanLoss and evaluation.examples == len(words)
    assert evaluation.loss < 0.2 * before
    assert [word.tolist() for word in best_path(network.predict(x))] == words


@pytest.mark.slow
def test_yolo2_is_trained_and_evaluated(rng, crews):
    x = rng.normal(size=(12, 1, 3, 4)).astype(np.float32)
    labels = np.zeros((12, 4 + 2, 3, 4), np.float32)
    labels[:, :4, 1, 2] = 2.1, 1.2, 2.9, 1.8
    labels[:, 5, 1, 2] = 1
    layers = [Conv2D(filters=7, kernel_size=1), LossLayer(loss=Yolo2(boxes=((1.0, 1.0),)))]
    conf = NetworkConf(input_shape=(1, 3, 4), layers=layers, optimizer=Adam(learning_rate=0.05))
    network = Network(conf)
    before = network.score((x, labels))
    network.fit((x, labels), 10, MASTER, crews(2))
    assert network.score((x, labels)) < 0.8 * before
    with pytest.raises(ValueError, match="label"):
        network.score((x, labels[:, :3]))


IDS = np.array([[1, 2, 0, 0, 0, 0], [3, 1, 2, 0, 0, 0]], np.float32)
STEPS = (IDS > 0).astype(np.float32)
EMBEDDING = {"vocabulary_size": 4, "units": 3}
# {name: (layers, features, mask column or None, the output's steps that count)}
MASKED = {
    "padding_id": ([EmbeddingSequence(**EMBEDDING, padding_id=0)], IDS, None, STEPS),
    "a mask of ids": ([EmbeddingSequence(**EMBEDDING)], IDS, STEPS, STEPS),
    "Masking": (
        [Masking(), LSTM(units=3)],
        np.stack([IDS, IDS], axis=2),
        None,
        STEPS,
    ),
    "fewer steps": (
        [Conv1D(filters=4, kernel_size=2, stride=2)],
        np.stack([IDS, IDS], axis=2),
        STEPS,
        np.array([[1, 0, 0], [1, 1, 0]]),
    ),
    "no mask": ([LSTM(units=3)], np.stack([IDS, IDS], axis=2), None, np.ones((2, 6))),
}


def per_step(network, batch, labels, counted):
    """Returns (accuracy, loss) over the counted steps, from the network's predictions."""
    y = network.replica.forward(batch)[network.conf.output.name].astype(np.float64)
    own = np.take_along_axis(y, labels[..., None], 2)[..., 0]
    chosen = counted > 0
    return (y.argmax(2) == labels)[chosen].mean(), -np.log(own[chosen]).mean()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", MASKED)
def test_steps_that_count_are_those_of_the_outputs_mask(name, reduction, rng):
    layers, x, mask, counted = MASKED[name]
    conf = NetworkConf(
        input_shape=x.shape[1:], layers=[*layers, RnnOutput(units=3, reduction=reduction)]
    )
    labels = rng.integers(0, 3, counted.shape)
    columns = {"features": x, "labels": labels.astype(np.int32)}
    batch = Batch(
        columns=columns | ({} if mask is None else {"mask": mask}), ids=record_ids(0, 0, 2)
    )
    network = Network(conf)
    evaluation = network.evaluate(batch)
    accuracy, loss = per_step(network, batch, labels, counted)
    assert evaluation.examples == counted.sum()
    assert evaluation.accuracy == pytest.approx(accuracy)
    assert evaluation.loss == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_each_step_has_the_weight_of_its_record(reduction, rng):
    layers, x, mask, counted = MASKED["fewer steps"]
    layers = [*layers, RnnOutput(units=3, reduction=reduction)]
    network = Network(NetworkConf(input_shape=x.shape[1:], layers=layers))
    labels, w = rng.integers(0, 3, counted.shape).astype(np.int32), np.float32([0.5, 3.0])
    columns = {"features": x, "labels": labels, "mask": mask, "weights": w}
    batch = Batch(columns=columns, ids=record_ids(0, 0, 2))
    found = network.evaluate(batch)
    y = network.replica.forward(batch)[network.conf.output.name]
    own = -np.log(np.take_along_axis(y, labels[..., None], 2)[..., 0])
    each = w[:, None] * counted
    assert found.loss == pytest.approx((own * each).sum() / counted.sum(), rel=1e-5)
    assert found.accuracy == pytest.approx(np.average(y.argmax(2) == labels, weights=each))
    assert (found.examples, found.weight) == (counted.sum(), each.sum())


OWN = {  # {name: (mask of labels, steps that count)}
    "of one step": (np.eye(6)[[1, 1]], np.eye(6)[[1, 1]]),
    "full": (np.ones((2, 6)), np.ones((2, 6))),
    "of one record": (np.float32([[-1] * 6, [1] * 6]), np.stack([STEPS[0], np.ones(6)])),
}


@pytest.mark.parametrize("name", OWN)
def test_a_mask_of_labels_comes_first(name, rng):
    layers, x, mask, _ = MASKED["a mask of ids"]
    conf = NetworkConf(input_shape=(6,), layers=[*layers, RnnOutput(units=3)])
    labels, (own, counted) = rng.integers(0, 3, (2, 6)), OWN[name]
    columns = {"features": x, "labels": labels.astype(np.int32), "mask": mask, "labels_mask": own}
    batch = Batch(columns=columns, ids=record_ids(0, 0, 2))
    network = Network(conf)
    evaluation = network.evaluate(batch)
    accuracy, loss = per_step(network, batch, labels, counted)
    assert evaluation.examples == counted.sum()
    assert evaluation.accuracy == pytest.approx(accuracy)
    assert evaluation.loss == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_sum_with_other_losses_is_taken_as_it_is(reduction, rng):
    layers = [LSTM(units=3), RnnOutput(units=3, reduction=reduction)]
    conf = NetworkConf(input_shape=(6, 2), layers=[AddedLoss(mean=True), *layers])
    batch = Batch(
        columns={
            "features": rng.normal(size=(2, 6, 2)).astype(np.float32),
            "labels": rng.integers(0, 3, (2, 6)).astype(np.int32),
            "mask": np.ones((2, 6), np.float32),
        },
        ids=record_ids(0, 0, 2),
    )
    network = Network(conf)
    total, n = network.replica.gradient(batch)
    assert network.evaluate(batch).loss == pytest.approx(total / n, rel=1e-5)


@pytest.mark.slow
def test_a_mask_of_ids_is_trained_with():
    layers = [EmbeddingSequence(**EMBEDDING), LSTM(units=3, return_sequences=False)]
    weights = []
    for other in (1, 3):  # where the mask is 0
        ids = np.where(STEPS > 0, IDS, other).astype(np.float32)
        network = Network(NetworkConf(input_shape=(6,), layers=[*layers, Output(units=2)]))
        columns = {"features": ids, "labels": np.array([0, 1], np.int32), "mask": STEPS}
        network.fit(Batch(columns=columns, ids=record_ids(0, 0, 2)), 3)
        weights.append({name: view.copy() for name, view in network.replica.arrays()[0].items()})
    for name in ("lstm_1/W", "output_1/W"):
        np.testing.assert_array_equal(weights[0][name], weights[1][name])
