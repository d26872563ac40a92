"""Evaluations of a network, from counts that are summed over executors."""

from sparkdl.training.evaluation.base import Evaluation
from sparkdl.training.evaluation.choice import evaluation_for
from sparkdl.training.evaluation.classification import Classification
from sparkdl.training.evaluation.mean_loss import MeanLoss
from sparkdl.training.evaluation.multilabel import MultiLabelEvaluation
from sparkdl.training.evaluation.regression import Regression
from sparkdl.training.evaluation.scores import Roc

__all__ = [
    "Classification",
    "Evaluation",
    "MeanLoss",
    "MultiLabelEvaluation",
    "Regression",
    "Roc",
]
