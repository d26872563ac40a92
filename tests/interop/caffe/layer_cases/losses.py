"""Losses of a batch of three. Labels are columns of the data, after the scores."""

import numpy as np
from scipy.special import expit, log_softmax, softmax

from tests.interop.caffe.layer_cases.case import case

IMAGE, PLACES = (4, 2, 3), (2, 3)


def cross_entropy(z, labels, axis=1):
    """Returns the cross entropy of each example or position."""
    logs = log_softmax(z, axis)
    return -np.take_along_axis(logs, np.expand_dims(labels, axis), axis)


def not_two(over):
    """Returns a loss: the sum over labels that are not 2, divided by `over(their mask)`."""

    def loss(p, z, labels):
        there = labels != 2
        each = cross_entropy(z, np.where(there, labels, 0))[:, 0] * there
        return each.sum() / over(there)

    return loss


def hinges(z, labels):
    z = z.reshape(len(z), -1)
    signs = 2 * np.eye(z.shape[1])[labels] - 1
    return np.maximum(0, 1 - signs * z)


def entropy(p, z, y):
    """Returns the sigmoid cross entropy, by scipy's logistic function."""
    return -(y * np.log(expit(z)) + (1 - y) * np.log(expit(-z))).sum() / len(z)


def known(p, z, y):
    terms = -(y * np.log(expit(z)) + (1 - y) * np.log(expit(-z)))
    return terms[y != 1].sum() / len(z)


def alike(margin, legacy):
    def loss(p, a, b, y):
        square = ((a - b) ** 2).sum(1)
        missing = margin - (square if legacy else np.sqrt(square))
        far = np.maximum(missing, 0) if legacy else np.maximum(missing, 0) ** 2
        return (y * square + (1 - y) * far).sum() / (2 * len(a))

    return loss


def likelihood(p, z, labels):
    return -np.log(z[np.arange(len(z)), labels]).mean()


SOFTMAX = "type: 'SoftmaxWithLoss' loss_param { ignore_label: 2 %s }"
SIGMOID = "type: 'SigmoidCrossEntropyLoss' loss_param { %s }"
LOSSES = [
    case(
        "type: 'SoftmaxWithLoss'",
        (4,),
        (),
        expected=lambda p, z, y: cross_entropy(z, y).mean(),
        whole={1: 4},
    ),
    case(
        "type: 'SoftmaxWithLoss'",
        IMAGE,
        PLACES,
        expected=lambda p, z, y: cross_entropy(z, y).mean(),
        whole={1: 4},
    ),
    case(
        "type: 'SoftmaxWithLoss' softmax_param { axis: 2 }",
        (3, 4),
        (3,),
        expected=lambda p, z, y: cross_entropy(z, y, 2).mean(),
        whole={1: 4},
    ),
    case(
        "type: 'SoftmaxWithLoss' softmax_param { axis: -1 } loss_weight: 0.5",
        (2, 3, 4),
        (2, 3),
        expected=lambda p, z, y: 0.5 * cross_entropy(z, y, 3).mean(),
        whole={1: 4},
    ),
    case(SOFTMAX % "", IMAGE, PLACES, expected=not_two(np.sum), whole={1: 4}),
    case(SOFTMAX % "", (4,), (), expected=not_two(np.sum), whole={1: 4}),
    case(
        SOFTMAX % "normalization: FULL",
        IMAGE,
        PLACES,
        expected=not_two(np.size),
        whole={1: 4},
    ),
    case(SOFTMAX % "normalization: BATCH_SIZE", IMAGE, PLACES, expected=not_two(len), whole={1: 4}),
    case(
        SOFTMAX % "normalization: BATCH_SIZE" + " softmax_param { axis: 2 }",
        (3, 4),
        (3,),
        expected=lambda p, z, y: (cross_entropy(z, y, 2)[..., 0] * (y != 2)).sum() / y.size,
        whole={1: 4},
    ),
    case(SOFTMAX % "normalize: false", IMAGE, PLACES, expected=not_two(len), whole={1: 4}),
    case(
        SOFTMAX % "normalization: NONE",
        IMAGE,
        PLACES,
        expected=not_two(lambda there: 1),
        whole={1: 4},
    ),
    case(
        "type: 'MultinomialLogisticLoss'",
        (4,),
        (),
        expected=likelihood,
        positive=True,
        whole={1: 4},
    ),
    case(
        "type: 'HingeLoss'",
        (4,),
        (),
        expected=lambda p, z, y: hinges(z, y).sum() / len(z),
        whole={1: 4},
    ),
    case(
        "type: 'HingeLoss' hinge_loss_param { norm: L2 }",
        (4, 1, 1),
        (),
        expected=lambda p, z, y: (hinges(z, y) ** 2).sum() / len(z),
        whole={1: 4},
    ),
    case("type: 'SigmoidCrossEntropyLoss'", IMAGE, IMAGE, expected=entropy, whole={1: 2}),
    case(
        SIGMOID % "normalization: FULL",
        IMAGE,
        IMAGE,
        expected=lambda p, z, y: entropy(p, z, y) / 24,
        whole={1: 2},
    ),
    case(
        SIGMOID % "normalization: NONE",
        (4,),
        (4,),
        expected=lambda p, z, y: entropy(p, z, y) * len(z),
        whole={1: 2},
    ),
    case(SIGMOID % "ignore_label: 1", (4,), (4,), expected=known, whole={1: 2}),
    case(
        SIGMOID % "ignore_label: 1 normalization: FULL",
        IMAGE,
        IMAGE,
        expected=lambda p, z, y: known(p, z, y) / 24,
        whole={1: 2},
    ),
    case(
        "type: 'EuclideanLoss'",
        IMAGE,
        IMAGE,
        expected=lambda p, z, y: ((z - y) ** 2).sum() / (2 * len(z)),
    ),
    case(
        "type: 'EuclideanLoss' loss_weight: -2.5",
        (4,),
        (4,),
        expected=lambda p, z, y: -2.5 * ((z - y) ** 2).sum() / (2 * len(z)),
    ),
    case(
        "type: 'InfogainLoss' infogain_loss_param { source: 'FILE' axis: 2 } "
        "loss_param { normalization: BATCH_SIZE }",
        (2, 3),
        (2,),
        expected=lambda p, z, y: -(p["gain"][y] * np.log(softmax(z, 2))).sum() / y.size,
        whole={1: 3},
    ),
    case("type: 'ContrastiveLoss'", (4,), (4,), (1,), expected=None),
    case(
        "type: 'InfogainLoss' infogain_loss_param { source: 'FILE' }",
        (3,),
        (),
        expected=lambda p, z, y: -(p["gain"][y] * np.log(softmax(z, 1))).sum() / len(z),
        whole={1: 3},
    ),
]
LOSSES[-2:-1] = [
    case(
        f"type: 'ContrastiveLoss' contrastive_loss_param {{ margin: 3 legacy_version: {old} }}",
        (4,),
        (4,),
        (1,),
        expected=lambda p, a, b, y, old=old: alike(3, old == "true")(p, a, b, y[:, 0]),
        whole={2: 2},
    )
    for old in ("false", "true")
]
