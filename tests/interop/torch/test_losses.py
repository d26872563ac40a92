"""Smoothed labels and focal losses against torch: numbers, gradients, and those of a module."""

from functools import partial

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.engine import ops
from sparkdl.nn import LossLayer
from sparkdl.nn.execution.replica import make_replica
from sparkdl.nn.losses import SigmoidCrossEntropy, SoftmaxCrossEntropy
from tests.interop.torch.modules import linear
from tests.nn.support import value_and_gradients

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
functional = torch.nn.functional

N, CLASSES = 6, 4
WEIGHTS = (1.0, 0.5, 0.0, 2.0)
SMOOTHED = [
    {},
    {"label_smoothing": 0.1},
    {"label_smoothing": 1.0},
    {"label_smoothing": 0.25, "class_weights": WEIGHTS},
    {"label_smoothing": 0.1, "ignore_label": 2},
    {"label_smoothing": 0.1, "class_weights": WEIGHTS, "ignore_label": 255},
]


def cross_entropy(loss, z, y, reduction="none"):
    """Returns torch's loss with the options of ours."""
    weights = None if loss.class_weights is None else torch.tensor(loss.class_weights).to(z.dtype)
    options = {} if loss.ignore_label is None else {"ignore_index": loss.ignore_label}
    options |= {"weight": weights, "label_smoothing": loss.label_smoothing}
    return functional.cross_entropy(z, y, reduction=reduction, **options)


def classes(loss, shape, rng):
    y = rng.integers(0, CLASSES, shape)
    if loss.ignore_label is not None:
        y[..., 0] = loss.ignore_label
    return y


def same(ours, theirs, z, **tolerances):
    """Compares losses and the gradients of their sums."""
    for scale in (1.0, 30.0):
        x = z * scale
        given = torch.tensor(x, requires_grad=True)
        expected = theirs(given)
        expected.sum().backward()
        np.testing.assert_allclose(ours(x), expected.detach().numpy(), **tolerances)
        _, (gz,) = value_and_gradients(lambda z: ops.sum(ours(z)), x)
        np.testing.assert_allclose(gz, given.grad.numpy(), **tolerances)


@pytest.mark.parametrize("options", SMOOTHED, ids=str)
def test_smoothed_classes(options, rng):
    loss = SoftmaxCrossEntropy(**options)
    z, y = rng.normal(size=(N, CLASSES)), classes(loss, N, rng)
    theirs = partial(cross_entropy, loss, y=torch.tensor(y))
    same(lambda z: loss.per_example(z, y), theirs, z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", SMOOTHED[:4], ids=str)
def test_smoothed_shares(options, rng):
    loss = SoftmaxCrossEntropy(labels="one_hot", **options)
    z, y = rng.normal(size=(N, CLASSES)), rng.dirichlet(np.ones(CLASSES), N)
    theirs = partial(cross_entropy, loss, y=torch.tensor(y))
    same(lambda z: loss.per_example(z, y), theirs, z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [SMOOTHED[1], SMOOTHED[4]], ids=str)
@pytest.mark.parametrize("shape", [(N, CLASSES, 3, 2), (N, 5, CLASSES)], ids=["pixels", "steps"])
def test_smoothed_pixels_and_steps(shape, options, rng):
    """torch's mean is over all labels of a batch that are not ignored: our reduction "valid"."""
    loss, places = SoftmaxCrossEntropy(**options), [n for n in shape[1:] if n != CLASSES]
    z, y = rng.normal(size=shape), classes(loss, (N, *places), rng)
    layer = LossLayer(loss=loss, reduction="valid")

    def theirs(z):
        z = z if len(shape) > 3 else z.transpose(1, 2)
        return cross_entropy(loss, z, torch.tensor(y), "mean")

    same(lambda z: ops.mean(layer.per_example(z, y)), theirs, z, rtol=1e-9, atol=1e-12)


def test_smoothed_shares_of_pixels(rng):
    loss = SoftmaxCrossEntropy(labels="one_hot", label_smoothing=0.1, class_weights=WEIGHTS)
    z = rng.normal(size=(N, CLASSES, 3, 2))
    y = np.moveaxis(rng.dirichlet(np.ones(CLASSES), (N, 3, 2)), -1, 1)
    layer, theirs = LossLayer(loss=loss), partial(cross_entropy, loss, y=torch.tensor(y))
    ours = partial(layer.per_example, labels=y)
    same(ours, lambda z: theirs(z).mean((1, 2)), z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1e4, 88.0])
def test_extreme_float32(size, rng):
    loss = SoftmaxCrossEntropy(label_smoothing=0.1)
    z = rng.choice([-size, 0, size], (40, CLASSES)).astype(np.float32)
    y = rng.integers(0, CLASSES, 40).astype(np.int32)
    theirs = cross_entropy(loss, torch.tensor(z), torch.tensor(y).long()).numpy()
    np.testing.assert_allclose(loss.per_example(z, y), theirs, rtol=1e-6, atol=1e-6)


def sigmoid_focal_loss(z, y, alpha, gamma):
    """torchvision.ops.sigmoid_focal_loss without reduction, as published (0.20)."""
    p = torch.sigmoid(z)
    each = functional.binary_cross_entropy_with_logits(z, y, reduction="none")
    p_t = p * y + (1 - p) * (1 - y)
    each = each * ((1 - p_t) ** gamma)
    return each if alpha < 0 else (alpha * y + (1 - alpha) * (1 - y)) * each


@pytest.mark.parametrize("alpha, gamma", [(0.25, 2), (0.75, 1), (-1, 2), (0.5, 0), (0.25, 5)])
def test_focal_yes_or_no(alpha, gamma, rng):
    loss = SigmoidCrossEntropy(focal_gamma=gamma, focal_alpha=None if alpha < 0 else alpha)
    z, y = rng.normal(size=(N, CLASSES)), rng.integers(0, 2, (N, CLASSES)).astype(float)
    theirs = partial(sigmoid_focal_loss, y=torch.tensor(y), alpha=alpha, gamma=gamma)
    same(lambda z: loss.per_example(z, y), lambda z: theirs(z).sum(1), z, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 2])
def test_focal_classes(gamma, rng):
    """The usual form of it in torch: of the cross entropy without reduction."""
    loss = SoftmaxCrossEntropy(focal_gamma=gamma, class_weights=WEIGHTS)
    z, y = rng.normal(size=(N, CLASSES)), rng.integers(0, CLASSES, N)

    def theirs(z):
        each = functional.cross_entropy(z, torch.tensor(y), reduction="none")
        return torch.tensor(WEIGHTS)[y] * (1 - torch.exp(-each)) ** gamma * each

    found = loss.per_example(z, y)
    np.testing.assert_allclose(found, theirs(torch.tensor(z)).numpy(), rtol=1e-7)
    same(lambda z: loss.per_example(z, y), theirs, z, rtol=1e-6, atol=1e-9)


def test_a_module_is_trained_by_it(rng):
    conf = linear(loss=SoftmaxCrossEntropy(label_smoothing=0.2), seed=1)
    replica = make_replica(conf)
    x, y = rng.normal(size=(8, 4)).astype(np.float32), np.arange(8, dtype=np.int32) % 3
    batch = Batch(columns={"features": x, "labels": y}, ids=np.arange(8, dtype=np.uint64))
    found = float(replica.gradient(batch)[0])
    [logits] = replica.forward(x, ("module",)).values()
    theirs = functional.cross_entropy(
        torch.tensor(logits), torch.tensor(y).long(), label_smoothing=0.2, reduction="sum"
    )
    assert found == pytest.approx(theirs.item(), rel=1e-5)
