"""Choice of the evaluation for a network."""

from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.training.evaluation.classification import Classification
from sparkdl.training.evaluation.mean_loss import MeanLoss
from sparkdl.training.evaluation.multilabel import MultiLabelEvaluation
from sparkdl.training.evaluation.regression import Regression


def evaluation_for(loss, units, labels=None):
    """Returns a fresh evaluation for `loss` over `units` outputs with names `labels`.

    Probabilities of classes are classified; sigmoid outputs are yes-or-no answers; all else are
    numbers. Where a prediction is not of the kind of a label, or answers may be left out, there is
    the loss alone.
    """
    if isinstance(loss, SigmoidCrossEntropy) and loss.ignore_label is None:
        return MultiLabelEvaluation(units, labels)
    if loss.predicts == "other" or isinstance(loss, SigmoidCrossEntropy):
        return MeanLoss(labels)
    return (Classification if loss.predicts == "class" else Regression)(units, labels)
