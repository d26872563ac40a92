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
    np.testing.assert_allclose(run.results.losses[0], expected * (1 if mean else 3), atol=1e-12)


@pytest.mark.parametrize("shape", [(4, 2, 3, 3), (4, 1, 2)], ids=str)
def test_padding_does_not_count_where_steps_are_images(shape, rng):
    """The loss grew with the length of the padding."""
    x = np.where(MASK.reshape(3, 4, *[1] * (len(shape) - 1)), rng.normal(size=(3, *shape)), 50.0)
    losses = []
    for steps in (4, 3):  # no example needs the fourth step of the second batch
        run = Run(training=True, seed=0, masks=(MASK[::2, :steps],))
        AddedLoss(mean=True).forward({}, x[::2, :steps], run)
        losses.append(run.results.losses[0])
    np.testing.assert_allclose(losses, [[x[0, :2].sum(), 0]] * 2)


def test_words_that_are_padding_do_not_count(rng):
    x, words = rng.normal(size=(2, 3, 4, 5)), rng.integers(0, 2, (2, 3, 4))
    run = Run(training=True, seed=0, masks=(words.astype(float),))
    AddedLoss(mean=True).forward({}, x, run)
    np.testing.assert_allclose(run.results.losses[0], (x * words[..., None]).sum((1, 2, 3)))


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_sum_over_the_batch_is_the_same_inside_wrappers(depth, rng):
    """Each TimeDistributed multiplied it by the number of steps."""
    layer, x = AddedLoss(weight=0.5), rng.normal(size=(2, 3, 4, 5))
    for _ in range(depth):
        layer = TimeDistributed(layer=layer)
    run = Run(training=True, seed=0)
    layer.forward({}, x, run)
    np.testing.assert_allclose(run.results.losses[0].mean(), 0.5 * x.sum())
