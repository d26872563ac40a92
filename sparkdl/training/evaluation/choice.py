"""Choice of the evaluation for a network."""

from sparkdl.errors import ConfigError
from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.nn.losses.dice import Overlap
from sparkdl.nn.losses.difference import Difference
from sparkdl.training.evaluation.classification import Classification
from sparkdl.training.evaluation.mean_loss import MeanLoss
from sparkdl.training.evaluation.multilabel import MultiLabelEvaluation
from sparkdl.training.evaluation.regression import Regression


def evaluation_for(loss, units, labels=None):
    """Returns a new evaluation for `loss` over `units` outputs with names `labels`.

    Class probabilities give a Classification, sigmoid outputs a MultiLabelEvaluation, other numbers
    a Regression. If predictions and labels differ in kind, some of an example's labels may be
    missing, or the loss is of whole sequences, only the loss is evaluated. Dice and
    Tversky count places.

    Raises ConfigError if there is only one class.
    """
    if not loss.has_places or keeps_ignored_labels(loss, units):
        return MeanLoss(labels)
    if isinstance(loss, SigmoidCrossEntropy) or is_of_masks(loss):
        return MultiLabelEvaluation(units, labels)
    if not predicts_labels(loss, units):
        return MeanLoss(labels)
    if loss.predicts == "class" and units < 2:
        raise ConfigError(
            f"units of an output with the loss {loss.type_name} must be an integer >= 2, one for "
            f"each class, got {units}; sigmoid_cross_entropy is for a yes or no"
        )
    return (Classification if loss.predicts == "class" else Regression)(units, labels)


def is_of_masks(loss):
    """Returns whether a loss is an Overlap whose units are masks, each a yes or no for a place."""
    return isinstance(loss, Overlap) and loss.predicts == "values"


def keeps_ignored_labels(loss, units):
    """Returns whether an example that counts may have labels that the loss ignores.

    Those with any label that is known count.
    """
    may_ignore = isinstance(loss, SigmoidCrossEntropy | Difference)
    return may_ignore and loss.ignore_label is not None and units > 1


def predicts_labels(loss, units):
    """Returns whether predictions are what labels are, or probabilities of classes.

    The loss must not be of sequences.
    """
    if loss.predicts == "values":
        return tuple(loss.label_shape(units)) == (units,)
    return loss.predicts != "other"
