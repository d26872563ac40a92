"""The gradient of the softmax cross entropy is one GPU kernel, without a softmax in memory."""

import ml_dtypes
import numpy as np
import pytest

from sparkdl.engine import ops
from tests.engine.backends.cuda.support import assert_same
from tests.engine.support import with_gradients

LOGITS = np.random.default_rng(0).normal(0, 3, (5, 1300)).astype(np.float32)
LABELS = np.int64([3, 1299, 0, 700, 3])


def loss(logits, labels):
    return ops.mean(ops.softmax_cross_entropy(logits, labels))


@pytest.mark.parametrize("classes", [1, 2, 33, 1300])
@pytest.mark.parametrize(
    "kind, tolerance",
    [(np.float32, 1e-5), (np.float64, 1e-5), (np.float16, 2e-3), (ml_dtypes.bfloat16, 1e-2)],
)
def test_the_gradient_is_one_node(classes, kind, tolerance):
    logits, labels = LOGITS[:, :classes].astype(kind), LABELS % classes
    graph = with_gradients(lambda z: loss(z, labels), logits)
    program = assert_same(graph, [logits], tolerance, runs=2)
    assert "SoftmaxCrossEntropyGrad" in [step.op for step in program.steps]
    assert not {"Softmax", "OneHot"} & {step.op for step in program.steps}


def test_rows_of_minus_infinity_and_large_numbers():
    logits = LOGITS[:, :40].copy()
    logits[0, :20], logits[1], logits[2, 5] = -np.inf, 1e30, 88.0
    labels = np.int64([25, 0, 5, 3, 4])
    assert_same(with_gradients(lambda z: loss(z, labels), logits), [logits], 1e-5)
