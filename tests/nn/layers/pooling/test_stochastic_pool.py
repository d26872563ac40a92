"""Stochastic pooling."""

import numpy as np

from sparkdl.engine import ops
from sparkdl.nn import Run, StochasticPool2D
from tests.nn.support import value_and_gradients

IMAGE = np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 0.0], [0.0, 5.0, 7.0]])[None, None]
POOL = StochasticPool2D(size=2, rounding="ceil")


def run_of(ids, training=True):
    return Run(training=training, seed=3, ids=np.asarray(ids, np.uint64))


def test_in_use_the_mean_weighted_by_the_numbers_themselves():
    y = POOL.forward({}, IMAGE, run_of([0], training=False))
    np.testing.assert_allclose(y, [[[[(1 + 9 + 4 + 4) / 8, 0], [5, 7]]]])


def test_numbers_are_drawn_as_often_as_they_are_large():
    n = 20_000
    x = np.broadcast_to(IMAGE, (n, 1, 3, 3)).copy()
    y = POOL.forward({}, x, run_of(range(n)))
    assert y.shape == (n, 1, 2, 2)
    for value, share in [(1, 1 / 8), (3, 3 / 8), (2, 4 / 8)]:
        assert abs((y[:, 0, 0, 0] == value).mean() - share) < 0.015
    assert (y[:, 0, 1] == [5, 7]).all() and (y[:, 0, 0, 1] == 0).all()


def test_gradients_go_to_what_was_drawn():
    run = run_of([4])
    y = POOL.forward({}, IMAGE, run)
    _, (gx,) = value_and_gradients(lambda x: ops.sum(POOL.forward({}, x, run)), IMAGE)
    drawn = IMAGE[0, 0, :2, :2] == y[0, 0, 0, 0]
    assert gx[0, 0, :2, :2].sum() == 1 and gx[0, 0, :2, :2][drawn].sum() == 1
