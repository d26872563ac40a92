"""Choice of the evaluation for a network."""

from sparkdl.errors import ConfigError
from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.nn.losses.difference import Difference
from sparkdl.training.evaluation.classification import Classification
from sparkdl.training.evaluation.mean_loss import MeanLoss
from sparkdl.training.evaluation.multilabel import MultiLabelEvaluation
from sparkdl.training.evaluation.regression import Regression


def evaluation_for(loss, units, labels=None):
    """Returns a new evaluation for `loss` over `units` outputs with names `labels`.

    Class probabilities give a Classification, sigmoid outputs a MultiLabelEvaluation, other numbers
    a Regression. If predictions and labels differ in kind, or some of an example's labels may be
    missing, only the loss is evaluated.

    Raises ConfigError if there is only one class.
    """
    if isinstance(loss, SigmoidCrossEntropy) and loss.ignore_label is None:
        return MultiLabelEvaluation(units, labels)
    partly = isinstance(loss, Difference) and loss.ignore_label is not None and units > 1
    if isinstance(loss, SigmoidCrossEntropy) or partly or not predicts_labels(loss, units):
        return MeanLoss(labels)
    if loss.predicts == "class" and units < 2:
        raise ConfigError(
            f"units of an output with the loss {loss.type_name} must be an integer >= 2, one for "
            f"each class, got {units}; sigmoid_cross_entropy is for a yes or no"
        )
    return (Classification if loss.predicts == "class" else Regression)(units, labels)


def predicts_labels(loss, units):
    """Returns whether predictions are what labels are, or probabilities of classes."""
    if loss.predicts == "values":
        return tuple(loss.label_shape(units)) == (units,)
    return loss.predicts != "other"
