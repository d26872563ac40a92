"""The evaluation that goes with each loss. A new loss is one more row."""

import pytest

from sparkdl.nn.losses import Loss, Mae, Mse, SigmoidCrossEntropy, SoftmaxCrossEntropy
from sparkdl.training.evaluation import Classification, MultiLabel, Regression, evaluation_for

CHOICES = {
    SoftmaxCrossEntropy: Classification,
    SigmoidCrossEntropy: MultiLabel,
    Mse: Regression,
    Mae: Regression,
}


def test_every_loss_has_a_row():
    assert set(Loss.__subclasses__()) == set(CHOICES)


@pytest.mark.parametrize("loss", CHOICES)
def test_a_loss_has_its_evaluation(loss):
    evaluation = evaluation_for(loss(), 3, ["a", "b", "c"])
    assert type(evaluation) is CHOICES[loss]
    assert evaluation.labels == ("a", "b", "c")
