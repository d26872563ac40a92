"""The evaluation that goes with each loss. A new loss is one more row."""

import pytest

from sparkdl.nn import losses
from sparkdl.training.evaluation import Classification, MultiLabel, Regression, evaluation_for

CHOICES = {
    losses.SoftmaxCrossEntropy: Classification,
    losses.SigmoidCrossEntropy: MultiLabel,
    losses.KlDivergence: Regression,
    losses.Poisson: Regression,
    losses.Mse: Regression,
    losses.Mae: Regression,
    losses.L1: Regression,
    losses.L2: Regression,
    losses.Mape: Regression,
    losses.Msle: Regression,
    losses.Huber: Regression,
    losses.Hinge: Regression,
    losses.SquaredHinge: Regression,
    losses.CosineProximity: Regression,
    losses.Wasserstein: Regression,
}


def test_every_loss_has_a_row():
    assert set(losses.Loss.members.values()) == set(CHOICES)


@pytest.mark.parametrize("loss", CHOICES)
def test_a_loss_has_its_evaluation(loss):
    evaluation = evaluation_for(loss(), 3, ["a", "b", "c"])
    assert type(evaluation) is CHOICES[loss]
    assert evaluation.labels == ("a", "b", "c")
