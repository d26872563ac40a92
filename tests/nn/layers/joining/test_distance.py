"""L2 norms and distances of masked sequences."""

import numpy as np
import pytest

from sparkdl.nn.layers import L2Distance, L2Normalize
from sparkdl.nn.layers.core.run import Run

MASK = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize("padding", [0.0, 50.0, np.nan])
def test_padding_does_not_count_in_the_length_of_a_sequence(padding, rng):
    x = np.where(MASK[..., None] > 0, rng.normal(size=(3, 4, 2)), padding)
    y = L2Normalize().forward({}, x, Run(training=True, seed=0, masks=(MASK,)))
    for sequence, found, mask in zip(x, y, MASK, strict=True):
        there = sequence[mask > 0]
        np.testing.assert_allclose(found[mask > 0], there / np.sqrt((there**2).sum() + 1e-8))
        np.testing.assert_array_equal(found[mask == 0], 0)


@pytest.mark.parametrize("padding", [0.0, 50.0, np.nan])
def test_padding_does_not_count_in_the_distance_of_two_sequences(padding, rng):
    """A step that one sequence lacks counts as zeros in it."""
    masks = MASK, np.roll(MASK, 1, axis=0)
    x = [np.where(mask[..., None] > 0, rng.normal(size=(3, 4, 2)), padding) for mask in masks]
    y = L2Distance().forward({}, x, Run(training=True, seed=0, masks=masks))
    known = [np.where(mask[..., None] > 0, one, 0) for one, mask in zip(x, masks, strict=True)]
    apart = np.linalg.norm((known[0] - known[1]).reshape(3, -1), axis=1, keepdims=True)
    np.testing.assert_allclose(y, apart, rtol=1e-6)


def test_a_mask_says_nothing_of_images(rng):
    x = rng.normal(size=(3, 4, 2, 2))
    runs = [Run(training=True, seed=0, masks=masks) for masks in ((MASK,), ())]
    np.testing.assert_array_equal(*(L2Normalize().forward({}, x, run) for run in runs))
