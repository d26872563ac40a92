"""Smoothed labels and focal losses: their steps, and their numbers at the ends of float32."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import Graph, compile, gradients, ops
from sparkdl.engine.autodiff import inputs_like
from sparkdl.nn import NetworkConf, Output
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.losses import SigmoidCrossEntropy, SoftmaxCrossEntropy
from tests.nn.support import value_and_gradients


def plain_softmax(z, y):
    return ops.softmax_cross_entropy(z, y)


def plain_shares(z, y):
    return ops.neg(ops.sum(ops.mul(y, ops.log_softmax(z)), axes=(1,)))


def plain_sigmoid(z, y):
    return ops.sum(ops.sigmoid_cross_entropy(z, y), axes=(1,))


PLAIN = {
    SoftmaxCrossEntropy(): plain_softmax,
    SoftmaxCrossEntropy(labels="one_hot"): plain_shares,
    SigmoidCrossEntropy(): plain_sigmoid,
}


def steps_of(per_example, labels):
    """Returns the text of the program of a loss and its gradient for z (4, 3)."""
    inputs = inputs_like([np.zeros((4, 3), np.float32), labels])
    value = ops.mean(per_example(*inputs))
    outputs = {"value": value, "gz": gradients(value, inputs[:1])[0]}
    return compile(Graph({one.name: one for one in inputs}, outputs)).describe()


@pytest.mark.parametrize("loss", PLAIN, ids=str)
def test_without_smoothing_and_focus_the_program_has_no_step_more(loss):
    classes = loss.label_kind == "class"
    labels = np.zeros(4, np.int32) if classes else np.zeros((4, 3), np.float32)
    plain = steps_of(PLAIN[loss], labels)
    assert steps_of(loss.per_example, labels) == plain
    for options in {"label_smoothing": 0.1}, {"focal_gamma": 2.0}:
        assert steps_of(replace(loss, **options).per_example, labels) != plain


SHARES = [0.0, 1e-4, 0.1, 1.0]


@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("share", SHARES)
def test_losses_of_certain_predictions_stay_finite(share, gamma):
    """From numbers that are sure beyond the precision of float32, rightly or not."""
    options = {"label_smoothing": share, "focal_gamma": gamma}
    ends = [0, 1e-3, 15, 17, 88, 104, 1e4, 1e30]
    z = np.float32([[sign * end, 0, -end] for end in ends for sign in (1, -1)])
    labels = np.arange(len(z), dtype=np.int32) % 3
    hot = np.eye(3, dtype=np.float32)[labels]
    require_finite(SoftmaxCrossEntropy(**options), z, labels)
    require_finite(SoftmaxCrossEntropy(labels="one_hot", **options), z, hot)
    require_finite(SigmoidCrossEntropy(focal_alpha=0.25, **options), z, hot)


def require_finite(loss, z, y):
    value, (gz,) = value_and_gradients(lambda z: ops.sum(loss.per_example(z, y)), z)
    assert np.isfinite(value) and np.isfinite(gz).all()
    assert (loss.per_example(z, y) >= 0).all()


def test_a_label_that_is_no_class_is_still_told_by_a_nan():
    loss = SoftmaxCrossEntropy(label_smoothing=0.1, focal_gamma=2)
    found = loss.per_example(np.zeros((2, 3)), np.array([5, 2]))
    assert np.isnan(found[0]) and np.isfinite(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_networks_compute_them_in_float32(dtype, rng):
    x, y = rng.normal(size=(8, 5)).astype(np.float32), np.arange(8, dtype=np.int32) % 3
    batch = Batch(columns={"features": 1e3 * x, "labels": y}, ids=np.arange(8, dtype=np.uint64))
    for options in {"label_smoothing": 0.1}, {"focal_gamma": 2.0}, {"focal_gamma": 0.5}:
        layers = [Output(units=3, loss=SoftmaxCrossEntropy(**options))]
        replica = Replica(NetworkConf(input_shape=(5,), layers=layers, dtype=dtype))
        total, _ = replica.gradient(batch)
        _, exact = replica.losses(batch)
        assert np.isfinite(total) and np.isfinite(replica.grad).all()
        assert float(total) == pytest.approx(exact.sum(), rel=1e-2)
