"""Channel mean and variance and the sums of their gradient, for any layout and scale."""

import ml_dtypes
import numpy as np
import pytest

from sparkdl.engine import gradients, ops
from tests.engine.backends.cuda.support import assert_same, values
from tests.engine.support import trace

SHAPES = [(9, 5), (2, 3, 4, 5), (2, 1, 1, 4), (7, 70, 3, 3), (3, 33, 40, 41), (2, 6, 3, 4, 5)]


def normalized(x, gamma, beta):
    """Returns y, mean, variance, and the gradients of an unevenly weighted sum of y."""
    y, mean, variance = ops.batch_norm(x, gamma, beta)
    uneven = np.sin(np.arange(x.spec.size, dtype=np.float32)).reshape(x.shape)
    loss = ops.sum(ops.mul(ops.cast(y, "float32"), uneven))
    return y, mean, variance, *gradients(loss, [x, gamma, beta])


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm_and_its_gradient(shape, dtype, rng):
    arrays = [rng.normal(1, 2, shape).astype(dtype), *rng.normal(1, 1, (2, shape[1])).astype("f4")]
    program = assert_same(trace(normalized, *arrays), arrays, 1e-4 if dtype == "f4" else 2e-2)
    assert {"Moments", "Slopes"} <= {step.op for step in program.steps}


def test_nothing_cancels_far_from_zero(rng):
    """The first number a thread sees is an outlier, and the mean is 10,000 deviations from 0."""
    x = (1e4 + rng.standard_normal((64, 3, 8, 8))).astype(np.float32)
    x[0, 0, 0, 0] = 0
    arrays, exact = [x, np.ones(3, "f4"), np.zeros(3, "f4")], x.astype(np.float64)
    found = values(trace(ops.batch_norm, *arrays), arrays, "cuda")
    np.testing.assert_allclose(found["y1"], exact.mean((0, 2, 3)), 1e-6)
    np.testing.assert_allclose(found["y2"], exact.var((0, 2, 3)), 1e-3)
