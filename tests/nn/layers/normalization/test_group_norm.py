"""Group normalization of sequences with a mask, against the steps that exist alone."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import nn as jax_nn

from sparkdl.nn.layers import GroupNorm
from sparkdl.nn.layers.core.run import Run

MASK = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]])


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("scale, shift", [(True, True), (False, True), (True, False)])
def test_statistics_are_of_the_steps_that_are_there(groups, scale, shift, rng):
    layer, x = GroupNorm(groups=groups, scale=scale, shift=shift), rng.normal(2, 3, size=(4, 4, 6))
    x[MASK == 0] = np.nan
    params = {name: rng.normal(size=6) for name in layer.param_shapes((4, 6))}
    y = layer.forward(params, x, Run(training=True, seed=0, masks=(MASK,)))
    for i, mask in enumerate(MASK > 0):
        if not mask.any():
            continue
        apart = jnp.split(x[i][mask], groups, axis=1)
        hat = np.hstack([jax_nn.standardize(part, axis=(0, 1), epsilon=1e-5) for part in apart])
        expected = hat * params.get("gamma", 1) + params.get("beta", 0)
        np.testing.assert_allclose(y[i][mask], expected, rtol=1e-4, atol=1e-5)
    assert np.isfinite(y).all()


def test_a_mask_of_ones_is_as_good_as_none(rng):
    layer, x = GroupNorm(groups=2), rng.normal(2, 3, size=(3, 4, 6))
    params = {name: rng.normal(size=6) for name in ("gamma", "beta")}
    runs = [Run(training=True, seed=0, masks=masks) for masks in ((np.ones((3, 4)),), ())]
    np.testing.assert_allclose(*(layer.forward(params, x, run) for run in runs), rtol=1e-10)
