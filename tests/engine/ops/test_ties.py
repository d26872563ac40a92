"""Gradients at kinks, such as ties of a maximum."""

import numpy as np
import pytest

from sparkdl.engine import gradients, ops
from tests.engine.support import run

ONES = np.ones((1, 1, 2, 3), np.float32)
ROW = np.array([2.0, 5.0, 5.0], np.float32)

TIES = {
    "max_pool: the first": (
        lambda x: ops.max_pool(x, 2, stride=1),
        [ONES],
        [[[[[1, 1, 0], [0, 0, 0]]]]],
    ),
    "max: shared": (ops.max, [ROW], [[0, 0.5, 0.5]]),
    "maximum: the first argument": (ops.maximum, [ROW, ROW], [[1, 1, 1], [0, 0, 0]]),
    "minimum: the first argument": (ops.minimum, [ROW, ROW], [[1, 1, 1], [0, 0, 0]]),
    "relu: none at 0": (ops.relu, [0 * ROW], [[0, 0, 0]]),
    "abs: none at 0": (ops.abs, [0 * ROW], [[0, 0, 0]]),
    "leaky_relu: alpha at 0": (lambda x: ops.leaky_relu(x, 0.25), [0 * ROW], [[0.25] * 3]),
}


@pytest.mark.parametrize("name", TIES)
def test_the_gradient_at_a_kink(name):
    function, arrays, expected = TIES[name]
    found = run(lambda *xs: gradients(ops.sum(function(*xs)), xs), *arrays)
    for grad, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(grad, other)
