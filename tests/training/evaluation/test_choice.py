"""The evaluation chosen for each loss. A new loss is one more row."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn import losses
from sparkdl.training.evaluation import (
    Classification,
    MeanLoss,
    MultiLabelEvaluation,
    Regression,
    evaluation_for,
)

IDENTITY = ((1, 0), (0, 1))
CHOICES = {
    losses.SoftmaxCrossEntropy(): Classification,
    losses.SoftmaxCrossEntropy(labels="one_hot"): Classification,
    losses.Infogain(gain=IDENTITY): Classification,
    losses.MultinomialLogistic(): Classification,
    losses.MulticlassHinge(): Classification,
    losses.Hinge(labels="class"): Classification,
    losses.SigmoidCrossEntropy(): MultiLabelEvaluation,
    losses.SigmoidCrossEntropy(ignore_label=-1): MeanLoss,
    losses.Contrastive(): Regression,
    losses.MultiLabelRanking(): Regression,
    losses.MixtureDensity(components=1, width=1): MeanLoss,
    losses.Ctc(label_length=2): MeanLoss,
    losses.Gaussian(): MeanLoss,
    losses.ExponentialDensity(): Regression,
    losses.Dice(): Classification,
    losses.Dice(labels="one_hot"): Classification,
    losses.Dice(ignore_label=255): Classification,
    losses.Dice(labels="masks"): MultiLabelEvaluation,
    losses.Tversky(): Classification,
    losses.Tversky(labels="masks"): MultiLabelEvaluation,
    losses.SoftmaxCrossEntropy(label_smoothing=0.1, focal_gamma=2): Classification,
    losses.SigmoidCrossEntropy(label_smoothing=0.1, focal_gamma=2): MultiLabelEvaluation,
    losses.Yolo2(boxes=((1, 1),)): MeanLoss,
    losses.KlDivergence(): Regression,
    losses.Poisson(): Regression,
    losses.Mse(): Regression,
    losses.Mse(ignore_label=-9): MeanLoss,
    losses.Mae(): Regression,
    losses.L1(): Regression,
    losses.L2(): Regression,
    losses.Euclidean(): Regression,
    losses.Mape(): Regression,
    losses.Msle(): Regression,
    losses.Huber(): Regression,
    losses.LogCosh(): Regression,
    losses.LogCosh(ignore_label=-9): MeanLoss,
    losses.Quantile(): MeanLoss,
    losses.Quantile(quantiles=[0.9]): Regression,
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


class Pairs(losses.Loss, abstract=True):  # abstract: not registered in the family
    """A user's loss, with labels of another shape than predictions."""

    def label_shape(self, units):
        return (1,)


def test_labels_that_differ_in_shape_from_predictions_are_not_compared_with_them():
    assert type(evaluation_for(Pairs(), 3)) is MeanLoss
    assert type(evaluation_for(Pairs(), 1)) is Regression


class Steps(losses.Loss, abstract=True):
    """A user's loss of sequences, with labels of the shape of predictions."""

    of_sequence = True

    def label_shape(self, z_shape):
        steps, units = z_shape
        return steps, units


@pytest.mark.parametrize("kind", ["values", "class"])
def test_losses_of_sequences_are_evaluated_by_the_loss_alone(kind, monkeypatch):
    monkeypatch.setattr(Steps, "label_kind", kind)
    assert type(evaluation_for(Steps(), 3)) is MeanLoss


def test_one_class_alone_says_which_option_has_more():
    with pytest.raises(ConfigError, match="units of an output with the loss softmax.*>= 2.*got 1"):
        evaluation_for(losses.SoftmaxCrossEntropy(), 1)


def test_the_mean_of_losses_adds_up():
    one = MeanLoss().add(np.zeros((2, 3)), np.zeros(2), [1.0, 3.0])
    both = one.merge(MeanLoss().add(np.zeros((1, 3)), np.zeros(1), [5.0]))
    assert (both.examples, both.loss, both.score) == (3, 3.0, -3.0)
    assert str(both) == "3 examples: loss 3.0000"
    with pytest.raises(ConfigError, match="MeanLoss needs the losses that the network computes"):
        one.add(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(DataError, match="2 examples need 2 losses"):
        one.add(np.zeros((2, 3)), np.zeros(2), [1.0])
