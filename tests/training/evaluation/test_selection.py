"""Losses of whole sequences and whole images, from records to an evaluation."""

import numpy as np
import pytest

from sparkdl.nn import Adam, Conv2D, Dense, LossLayer, NetworkConf
from sparkdl.nn.losses import Ctc, Yolo2, best_path
from sparkdl.training.evaluation import MeanLoss
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network

MASTER = ParameterAveraging(batch_size_per_worker=8, averaging_frequency=1)


def test_ctc_learns_to_read(rng, crews):
    # each step shows a one-hot class, shown for two steps; class 0 separates
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
