"""The numbers of a round in TensorBoard and MLflow."""

import pytest

from sparkdl.training.report.scalars import learning_rate
from tests.training.report.fits import CONF
from tests.training.reports import plan, report


def test_the_learning_rate_is_lowered_as_that_of_the_round_was():
    """Over Spark Connect the plan is not the one that listeners have steered."""
    about = plan(conf=CONF)
    for factor in (1.0, 0.25):
        rate = learning_rate(about, report(iteration=11, rate_factor=factor))
        assert rate == pytest.approx(0.05 * factor)
