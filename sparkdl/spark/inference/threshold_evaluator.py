"""Evaluation of classes that are chosen by thresholds."""

from dataclasses import replace
from itertools import chain

import numpy as np

from sparkdl.spark.inference.output_columns import CLASSES, divide_by_thresholds, probabilities
from sparkdl.training.evaluation import Evaluation
from sparkdl.training.evaluation.batch_evaluation import (
    Evaluator,
    evaluate_batches,
    new_evaluation,
    pieces,
)

# Counts that thresholds do not change.
OF_PROBABILITIES = {*Evaluation.sums, "scores", "confidences"}


class ThresholdEvaluator(Evaluator):
    """Counts the classes that a model with thresholds predicts.

    Losses, ROC, AUC and the calibration error are computed from the probabilities.

    Parameters
    ----------
    conf, transform
        As for Evaluator.
    kind : str
        Of the output, CLASSES or YES_OR_NO.
    thresholds : tuple of float
        One for each class.
    """

    def __init__(self, conf, transform, kind, thresholds):
        super().__init__(conf, transform)
        self.kind, self.thresholds = kind, thresholds

    def evaluate(self, replica, blocks):
        counts = ThresholdCounts(self)
        parts = (pieces(block, self.transform, self.conf) for block in blocks)
        evaluate_batches(replica, chain.from_iterable(parts), counts)
        return counts.evaluation()

    def decide(self, y):
        """Returns numbers in [0, 1], shaped like the network's outputs, that choose the class.

        For several classes they are ranks by probability / threshold; the best class has 1.
        """
        ratios = divide_by_thresholds(probabilities(y, self.kind), self.thresholds)
        if self.kind != CLASSES:
            return ratios.argmax(axis=1)[:, np.newaxis].astype(np.float64)
        order = np.argsort(-ratios, axis=1, kind="stable")  # ties go to the first class
        places = 1 - np.arange(ratios.shape[1]) / ratios.shape[1]
        chosen = np.empty(ratios.shape)
        np.put_along_axis(chosen, order, places[np.newaxis], axis=1)
        return chosen


class ThresholdCounts:
    """Accumulator for `evaluate_batches`: one evaluation of probabilities, and one of choices."""

    def __init__(self, evaluator):
        self._decide = evaluator.decide
        self._plain = new_evaluation(evaluator.conf)
        self._chosen = without_scores(new_evaluation(evaluator.conf))
        self.wrong, self.labels = self._plain.wrong, self._plain.labels
        self.metrics = self._plain.metrics = evaluator.metrics.empty()

    def add(self, predictions, labels, losses, weights=None):
        self._plain.add(predictions, labels, losses, weights)  # checks them
        self._chosen.add(self._decide(predictions), labels, losses, weights)

    def evaluation(self):
        """Returns both evaluations combined."""
        for name in set(self._plain.sums) - OF_PROBABILITIES:
            setattr(self._plain, name, getattr(self._chosen, name))
        self._plain.wrong = self.wrong
        return self._plain


def without_scores(evaluation):
    """Returns a copy of an empty Evaluation that sorts no scores, as its AUC is not used."""
    if "scores" not in evaluation.sums:
        return evaluation
    return replace(evaluation, bins=1, exact_scores=0)
