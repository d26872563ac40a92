"""AddedLoss on masked sequences."""

import numpy as np
import pytest

from sparkdl.nn.layers import AddedLoss, TimeDistributed
from sparkdl.nn.layers.core.run import Run

MASK = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("wrapped", [False, True])
def test_padding_does_not_count(mean, wrapped, rng):
    layer, x = AddedLoss(weight=0.5, mean=mean), rng.normal(size=(3, 4, 2))
    layer = TimeDistributed(layer=layer) if wrapped else layer
    run = Run(training=True, seed=0, masks=(MASK,))
    x[MASK == 0] = np.nan
    assert layer.forward({}, x, run) is x or wrapped
    expected = 0.5 * np.array([s[m > 0].sum() for s, m in zip(x, MASK, strict=True)])
    examples = 1 if mean else 12 if wrapped else 3  # the sum is over the batch as the layer sees it
    np.testing.assert_allclose(run.results.losses[0], expected * examples, atol=1e-12)
