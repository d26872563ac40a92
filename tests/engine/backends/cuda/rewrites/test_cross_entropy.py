"""The cross-entropy gradient is one GPU node unless its parts are read elsewhere."""

import numpy as np
import pytest

from sparkdl.engine import ops
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import trace, with_gradients

LOGITS = np.random.default_rng(0).normal(0, 3, (5, 1300)).astype(np.float32)
LABELS = np.int64([3, 1299, 0, 700, 3])


def loss(logits, labels):
    return ops.mean(ops.softmax_cross_entropy(logits, labels))


@pytest.mark.parametrize("classes", [1, 2, 33, 1300])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_the_gradient_is_one_node(classes, kind):
    logits, labels = LOGITS[:, :classes].astype(kind), LABELS % classes
    graph = with_gradients(lambda z: loss(z, labels), logits)
    program = assert_same(graph, [logits], 1e-5, runs=2)
    assert "CrossEntropyGrad" in [step.op for step in program.steps]
    assert not {"Softmax", "OneHot"} & {step.op for step in program.steps}


def test_rows_of_minus_infinity_and_large_numbers():
    logits = LOGITS[:, :40].copy()
    logits[0, :20], logits[1], logits[2, 5] = -np.inf, 1e30, 88.0
    labels = np.int64([25, 0, 5, 3, 4])
    assert_same(with_gradients(lambda z: loss(z, labels), logits), [logits], 1e-5)


def of_parts(z):
    """Reads one difference twice, and subtracts a full matrix in the other."""
    d = ops.sub(ops.softmax(z), ops.one_hot(LABELS, 1300))
    column = ops.sum(z, 1, True)
    return ops.add(ops.mul(d, column), d), ops.mul(ops.sub(ops.softmax(z), z), column)


def test_what_is_read_elsewhere_stays():
    program = assert_same(trace(of_parts, LOGITS), [LOGITS], 1e-5)
    assert "CrossEntropyGrad" not in [step.op for step in program.steps]


def mean_of(distance, z):
    return ops.mul(distance, ops.sum(z, 1, True))


ALIKE = {
    "one label for all": lambda z: (z, ops.one_hot(np.int64([7]), 1300)),
    "one row for all labels": lambda z: (
        ops.slice(z, (0, 0), (1, 1300)),
        ops.one_hot(LABELS, 1300),
    ),
    "one class": lambda z: (z, ops.one_hot(LABELS, 1)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_labels_of_other_shapes_are_not_taken_for_those_of_rows(name):
    def function(z):
        logits, hot = ALIKE[name](z)
        return mean_of(ops.sub(ops.softmax(logits), hot), z)

    program = assert_same(trace(function, LOGITS), [LOGITS], 1e-5, runs=2)
    assert "CrossEntropyGrad" not in [step.op for step in program.steps]
