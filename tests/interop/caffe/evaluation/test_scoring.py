"""Scores of a batch like Caffe's, against scikit-learn and numbers worked out by hand."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, recall_score, top_k_accuracy_score

from sparkdl.interop.caffe.evaluation.scoring import (
    accuracy_score,
    blobs_to_score,
    scores_of,
    top_k_of,
)
from sparkdl.interop.caffe.graphs.net import load_net
from sparkdl.interop.caffe.layers.scores import Score
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.nn.execution.replica import Replica
from tests.interop.caffe.nets import path

CLASSES = """
layer { name: 'in' type: 'Input' top: 'x' top: 'label' }
layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip'
        inner_product_param { num_output: 4 weight_filler { type: 'xavier' } } }
layer { name: 'top1' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'top1' top: 'each' }
layer { name: 'top2' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'top2'
        accuracy_param { top_k: 2 } }
layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss'
        loss_weight: 0.25 }
layer { name: 'size' type: 'Reduction' bottom: 'ip' top: 'size' loss_weight: 2
        reduction_param { operation: SUMSQ } }
"""


def test_scores_of_classes(rng):
    shapes = {"x": (5,)}
    net = load_net(parse_text(CLASSES, NetParameter), state_of("TEST"), shapes)
    x, labels = rng.normal(size=(64, 5)).astype(np.float32), rng.integers(0, 4, 64)
    values = Replica(net.conf).forward(x, outputs=blobs_to_score(net))
    found = scores_of(net, values, {"labels": labels.astype(np.int32)})
    assert net.outputs == ("top1", "each", "top2", "loss", "size") == tuple(found)
    z = values["ip"]
    probabilities = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    known = {"labels": range(4)}
    assert found["top1"] == pytest.approx(top_k_accuracy_score(labels, z, k=1, **known))
    assert found["top2"] == pytest.approx(top_k_accuracy_score(labels, z, k=2, **known))
    assert found["loss"] == pytest.approx(log_loss(labels, probabilities), rel=1e-5)
    each = recall_score(labels, z.argmax(1), average=None, labels=range(4))
    np.testing.assert_allclose(found["each"], each)
    assert found["size"] == pytest.approx((z**2).sum(), rel=1e-5)


@pytest.mark.slow
def test_losses_of_an_auto_encoder_weigh_nothing_yet(rng):
    net = load_net(path("autoencoder"), state_of("TRAIN"), {"data": (1, 28, 28)})
    x = rng.uniform(size=(8, 1, 28, 28)).astype(np.float32)
    values = Replica(net.conf).forward(x, outputs=blobs_to_score(net))
    found = scores_of(net, values, {})
    again = 1 / (1 + np.exp(-values["decode1"]))
    rows = x.reshape(8, -1)
    assert found["l2_error"] == pytest.approx(((again - rows) ** 2).sum() / 16, rel=1e-4)
    terms = rows * np.log(again) + (1 - rows) * np.log(1 - again)
    assert found["cross_entropy_loss"] == pytest.approx(-terms.sum() / 8, rel=1e-4)


def test_accuracy_of_places_without_what_is_ignored():
    z = np.array([[[5.0, 1, 1], [1, 5, 1]]])  # two classes at three positions
    score = Score(blob="a", kind="accuracy", source="z", ignore_label=255)
    assert accuracy_score(z, np.array([[0, 0, 255]]), score) == 0.5
    assert accuracy_score(z, np.array([[255, 255, 255]]), score) == 0.0
    assert accuracy_score(z, np.array([[255, 255, 1]]), score) == 0.0  # ties count as larger


X = np.array([[[3.0, 7, 5], [9, 2, 7]]])
LARGEST = {
    (None, 2, False): [[[3, 5]]],  # the last of the two sevens
    (None, 2, True): [[[3, 5], [9, 7]]],
    (1, 2, False): [[[1, 2], [0, 2]]],
    (1, 1, True): [[[7], [9]]],
    (0, 1, False): [[[1, 0, 1]]],
}


@pytest.mark.parametrize("options", LARGEST)
def test_the_largest(options):
    axis, top_k, values = options
    score = Score(blob="a", kind="argmax", source="z", axis=axis, top_k=top_k, values=values)
    np.testing.assert_array_equal(top_k_of(X, score), LARGEST[options])
