"""Which evaluation goes with a network."""

from sparkdl.nn.losses import SigmoidCrossEntropy
from sparkdl.training.evaluation.classification import Classification
from sparkdl.training.evaluation.multilabel import MultiLabel
from sparkdl.training.evaluation.regression import Regression


def evaluation_for(loss, units, labels=None):
    """A fresh evaluation for `loss` (a nn.losses.Loss) over `units` outputs with names `labels`.

    Probabilities of classes are classified; sigmoid outputs are yes-or-no answers; all else are
    numbers.
    """
    if isinstance(loss, SigmoidCrossEntropy):
        return MultiLabel(units, labels)
    return (Classification if loss.predicts_classes else Regression)(units, labels)
