"""Reductions of masked sequences."""

import numpy as np
import pytest

from sparkdl.nn.layers import Reduce
from sparkdl.nn.layers.core.run import Run

MASK = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
OF_NUMPY = {
    "sum": np.sum,
    "asum": lambda x: np.abs(x).sum(),
    "sumsq": lambda x: (x**2).sum(),
    "mean": lambda x: x.mean() if x.size else 0.0,
}


def masked(layer, x):
    return layer.forward({}, x, Run(training=True, seed=0, masks=(MASK,)))


@pytest.mark.parametrize("padding", [0.0, 50.0, np.nan])
@pytest.mark.parametrize("operation", OF_NUMPY)
def test_padding_does_not_count_over_the_steps(operation, padding, rng):
    """It counted as any other number, and the mean was over all steps."""
    x = np.where(MASK[..., None] > 0, rng.normal(size=(3, 4, 2)), padding)
    y = masked(Reduce(operation=operation, coefficient=0.5), x)
    expected = [
        [0.5 * OF_NUMPY[operation](one[there > 0])] for one, there in zip(x, MASK, strict=True)
    ]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize("axis, shape", [(1, (4, 2)), (0, (4, 2, 2))])
def test_a_mask_says_nothing_of_numbers_of_each_step_and_of_images(axis, shape, rng):
    layer, x = Reduce(axis=axis, operation="mean"), rng.normal(size=(3, *shape))
    plain = layer.forward({}, x, Run(training=True, seed=0, masks=()))
    np.testing.assert_array_equal(masked(layer, x), plain)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("operation", OF_NUMPY)
def test_padding_does_not_count_over_the_steps_within_steps(operation, axis, rng):
    words = rng.integers(0, 2, (2, 3, 4)).astype(float)
    words[0, 0] = 0
    x = np.where(words[..., None] > 0, rng.normal(size=(2, 3, 4, 2)), 50.0)
    run = Run(training=True, seed=0, masks=(words,))
    y = Reduce(operation=operation, axis=axis).forward({}, x, run)
    for i in range(2):
        groups = [(x[i], words[i])] if axis == 0 else zip(x[i], words[i], strict=True)
        expected = [OF_NUMPY[operation](one[there > 0]) for one, there in groups]
        np.testing.assert_allclose(y[i], expected, rtol=1e-6, atol=1e-9)
