"""Losses of sequences: Caffe has (steps, batch, ...), so it divides by the steps."""

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.caffe.evaluation.scoring import scores_of
from sparkdl.nn import forward
from tests.interop.caffe.layers.test_special_layers import load, loss_of

N, T, F = 3, 5, 2
NET = """
layer { name: 'in' type: 'Input' top: 'x' top: 'on' top: 'y' input_param {
        shape { dim: 5 dim: 3 dim: 2 } shape { dim: 5 dim: 3 } shape { dim: 5 dim: 3 dim: 2 } } }
layer { name: 'z' type: 'Power' bottom: 'x' top: 'z' power_param { scale: 2 } }
layer { name: 'lstm' type: 'LSTM' bottom: 'z' bottom: 'on' top: 'h'
        recurrent_param { num_output: 2 } }
layer { name: 'loss' %s bottom: 'z' bottom: 'y' top: 'loss' loss_weight: 3 }
"""
VALUES = "layer { name: 'v' type: 'Power' bottom: 'y' top: 'v' } layer { name: 'loss'"
COMPUTED = NET.replace("bottom: 'y'", "bottom: 'v'").replace("layer { name: 'loss'", VALUES)


def half_squares(z, y):
    return ((z - y) ** 2).sum() / (2 * T)


def entropy(z, y):
    return (np.log1p(np.exp(z)) - y * z).sum() / T


LOSSES = {
    "type: 'EuclideanLoss'": half_squares,
    "type: 'SigmoidCrossEntropyLoss'": entropy,
    "type: 'SigmoidCrossEntropyLoss' loss_param { normalization: FULL }": (
        lambda z, y: entropy(z, y) / (N * F)
    ),
}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("computed", [False, True])
def test_the_loss_is_divided_by_the_steps(kind, computed, rng):
    """Against Caffe's formulas in float64, for labels and for a blob computed from them."""
    text = (COMPUTED if computed else NET) % kind
    net = load(text)
    x, y = rng.normal(size=(N, T, F)), rng.integers(0, 2, (N, T, F)).astype(float)
    inputs = {"x": x, "on": np.ones((N, T))} | ({"y": y} if computed else {})
    labels = {} if computed else {"labels": y}
    _, loss = loss_of(net, inputs, labels, rng)
    assert float(loss) == pytest.approx(3 * LOSSES[kind](2 * x, y), rel=1e-6)
    blobs = (net.blobs["z"], *([net.blobs["v"]] if computed else []))
    params = {n: np.zeros(shape) for n, shape in net.conf.params_layout.entries}
    values = forward(net.conf, params, {}, inputs, outputs=blobs).activations
    shown = scores_of(net, values | inputs, labels)
    assert shown["loss"] == pytest.approx(LOSSES[kind](2 * x, y), rel=1e-6)


STEP = NET.replace("dim: 5", "dim: 1").replace("dim: 3 dim: 2 } } }", "dim: 3 } } }")


@pytest.mark.parametrize(
    "net, steps", [(NET.replace("dim: 3 dim: 2 } } }", "dim: 3 } } }"), T), (STEP, 1)]
)
def test_softmax_by_batch_size_is_divided_by_steps_and_batch(net, steps, rng):
    options = "type: 'SoftmaxWithLoss' softmax_param { axis: 2 } "
    options += "loss_param { normalization: BATCH_SIZE ignore_label: 1 }"
    z, y = rng.normal(size=(N, steps, F)), rng.integers(0, 2, (N, steps))
    _, loss = loss_of(
        load(net % options), {"x": z / 2, "on": np.ones((N, steps))}, {"labels": y}, rng
    )
    each = np.log(np.exp(z).sum(2)) - z[..., 0]
    assert float(loss) == pytest.approx(3 * each[y == 0].sum() / (N * steps), rel=1e-6)


ROWS = ["'HingeLoss'", "'MultinomialLogisticLoss'", "'ContrastiveLoss' bottom: 'z'"]


@pytest.mark.parametrize("kind", ROWS)
def test_losses_whose_labels_are_one_for_each_example(kind):
    with pytest.raises(UnsupportedError, match="'z' must have its channels along axis 1"):
        load(NET % f"type: {kind}")
