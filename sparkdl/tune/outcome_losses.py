"""The losses of what several networks give together, by the loss that they are trained with."""

import numpy as np

from sparkdl.nn.losses import (
    ExponentialDensity,
    Infogain,
    KlDivergence,
    Loss,
    MulticlassHinge,
    Poisson,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
)
from sparkdl.nn.losses.agreement import MarginLoss

LEAST = np.finfo(np.float32).tiny  # a probability below counts as so much


def log(y):
    return np.log(np.maximum(y, LEAST))


def log_odds(y):
    return log(y) - log(1 - y)


def minus_log(y):
    return -log(y)


# Functions that undo Loss.output. Where that is softmax they give z but for a number that is the
# same for all units, which these losses do not see.
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
    """Returns whether the loss of a network with `conf` follows from an outcome.

    It does not follow from shares of votes, from a prediction that does not tell the scores z, or
    where other layers add to the loss.
    """
    main = conf.main
    others = any(place.layer.adds_loss for place in conf.stack if place.name != main.name)
    labelled = conf.label_column(main) is not None
    return voting != "hard" and labelled and not others and scores_of(main.layer.loss) is not None


def scores_of(loss):
    """Returns the function that undoes `loss.output`; None where there is none."""
    gives_z = type(loss).output is Loss.output
    if isinstance(loss, MarginLoss):
        gives_z = loss.labels == "signs"
    return np.asarray if gives_z else SCORES.get(type(loss))


def outcome_losses(conf, voting, outcome, batch):
    """Returns the loss of each example (n,) of an outcome (n, units); nan without `has_losses`."""
    if not has_losses(conf, voting):
        return np.full(len(outcome), np.nan)
    layer, labels = conf.main.layer, batch.columns[conf.label_column(conf.main)]
    with np.errstate(all="ignore"):  # an outcome that is not finite is refused afterwards
        z = scores_of(layer.loss)(np.asarray(outcome, np.float64))
        return layer.loss_weight * layer.per_example(z, labels)
