"""Losses of an ensemble's outcome, by the loss that its networks are trained with."""

import numpy as np

from sparkdl.nn.inputs.columns import WEIGHTS
from sparkdl.nn.losses import (
    ExponentialDensity,
    Infogain,
    KlDivergence,
    MulticlassHinge,
    Poisson,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
)
from sparkdl.nn.losses.dice import Overlap
from sparkdl.training.evaluation.base import weigh

LEAST = np.finfo(np.float32).tiny  # lower limit of probabilities


def log(y):
    return np.log(np.maximum(y, LEAST))


def log_odds(y):
    return log(y) - log(1 - y)


def minus_log(y):
    return -log(y)


# Inverses of Loss.output. For softmax they give z up to a constant that is the same for all
# units, which does not affect these losses.
SCORES = {
    ExponentialDensity: minus_log,
    Infogain: log,
    KlDivergence: log,
    MulticlassHinge: log,
    Poisson: log,
    SigmoidCrossEntropy: log_odds,
    SoftmaxCrossEntropy: log,
}


def has_losses(conf, voting):
    """Returns whether a network's loss can be computed from an ensemble's outcome.

    It cannot for shares of votes, for predictions that do not determine the scores z, or if other
    layers add to the loss.
    """
    main = conf.main
    others = any(place.layer.adds_loss for place in conf.stack if place.name != main.name)
    labelled = conf.label_column(main) is not None
    return voting != "hard" and labelled and not others and scores_of(main.layer.loss) is not None


def scores_of(loss):
    """Returns the inverse of `loss.output`, None if there is none."""
    if isinstance(loss, Overlap):
        return log_odds if loss.labels == "masks" else log
    return np.asarray if loss.predicts_z else SCORES.get(type(loss))


def outcome_losses(conf, voting, outcome, batch):
    """Returns the loss of each example (n,) of an outcome (n, units); nan without `has_losses`.

    It is multiplied by the weights of the examples, if they have any.
    """
    if not has_losses(conf, voting):
        return np.full(len(outcome), np.nan)
    layer, labels = conf.main.layer, batch.columns[conf.label_column(conf.main)]
    with np.errstate(all="ignore"):  # non-finite outcomes are refused afterwards
        z = scores_of(layer.loss)(np.asarray(outcome, np.float64))
        losses = layer.loss_weight * layer.per_example(z, labels)
    return weigh(losses, batch.columns.get(WEIGHTS))
