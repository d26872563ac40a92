"""The period between averages follows the losses."""

import math

import numpy as np

from sparkdl.training.masters.local_sgd.master import LocalSGD
from sparkdl.training.masters.local_sgd.worker import Period


def test_the_period_follows_the_loss_and_shrinks_where_that_stays():
    period, found = Period(LocalSGD(period=16, plateau=0.5)), []
    for loss in (4.0, 1.0, 0.9, 0.25, 0.25, 9.0, 9.0):
        period.add(loss * 10, 10)
        period.adapt()
        found.append(period.now)
    # 16 * 1 is not below 16, so it is halved; 16 / 2 is not below 8; 16 * sqrt(0.9 / 4) = 7.6; ...
    assert found == [8, 4, 2, 1, 1, 1, 1]


def test_a_period_goes_on_where_it_was():
    master = LocalSGD(period=32)
    one, other = Period(master), Period(master)
    one.add(50, 10)
    one.adapt()
    one.add(0.3, 1)
    other.restore(one.vector())
    for period in (one, other):
        period.add(0.1, 1)
        period.adapt()
    assert one.now == other.now == math.ceil(32 * math.sqrt(0.2 / 5))
    np.testing.assert_array_equal(one.vector(), other.vector())


def test_a_period_of_an_older_checkpoint_goes_on_too():
    period = Period(LocalSGD(period=8))
    period.restore(np.array([3, 0.5, 0.25, 10]))
    np.testing.assert_array_equal(period.vector(), [3, 0.5, 0.25, 10, 8])


def test_a_loss_that_is_not_finite_leaves_the_period():
    period = Period(LocalSGD(period=8))
    period.add(math.nan, 10)
    period.adapt()
    assert period.now == 8


def test_a_loss_of_zero_has_not_fallen():
    period = Period(LocalSGD(period=8, plateau=0.5))
    for expected in (4, 2):  # shrinks as where any other loss stays
        period.add(0.0, 10)
        period.adapt()
        assert period.now == expected
