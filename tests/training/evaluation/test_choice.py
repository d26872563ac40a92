"""The evaluation that goes with each loss. A new loss is one more row."""

import pytest

from sparkdl.nn import losses
from sparkdl.training.evaluation import Classification, MultiLabel, Regression, evaluation_for

IDENTITY = ((1, 0), (0, 1))
CHOICES = {
    losses.SoftmaxCrossEntropy(): Classification,
    losses.SoftmaxCrossEntropy(labels="one_hot"): Classification,
    losses.Infogain(gain=IDENTITY): Classification,
    losses.MultinomialLogistic(): Classification,
    losses.MulticlassHinge(): Classification,
    losses.Hinge(labels="class"): Classification,
    losses.SigmoidCrossEntropy(): MultiLabel,
    losses.Contrastive(): Regression,
    losses.MultiLabel(): Regression,
    losses.MixtureDensity(components=1, width=1): Regression,
    losses.KlDivergence(): Regression,
    losses.Poisson(): Regression,
    losses.Mse(): Regression,
    losses.Mae(): Regression,
    losses.L1(): Regression,
    losses.L2(): Regression,
    losses.Mape(): Regression,
    losses.Msle(): Regression,
    losses.Huber(): Regression,
    losses.Hinge(): Regression,
    losses.SquaredHinge(): Regression,
    losses.CosineProximity(): Regression,
    losses.Wasserstein(): Regression,
}


def test_every_loss_has_a_row():
    assert set(losses.Loss.members.values()) == set(map(type, CHOICES))


@pytest.mark.parametrize("loss", CHOICES, ids=str)
def test_a_loss_has_its_evaluation(loss):
    evaluation = evaluation_for(loss, 3, ["a", "b", "c"])
    assert type(evaluation) is CHOICES[loss]
    assert evaluation.labels == ("a", "b", "c")
