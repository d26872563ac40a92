"""Evaluation of networks that predict several binary labels of an example."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np

from sparkdl.config import is_integer
from sparkdl.errors import DataError, require
from sparkdl.training.evaluation.base import (
    Evaluation,
    check_probabilities,
    check_values,
    check_weights,
    set_names,
    weigh,
)
from sparkdl.training.evaluation.calibration import calibration_error, calibration_sums
from sparkdl.training.evaluation.classification import cross_entropy
from sparkdl.training.evaluation.classification_report import rounded
from sparkdl.training.evaluation.distinct_scores import limit_for
from sparkdl.training.evaluation.per_column import PerColumn, pick_or_mean
from sparkdl.training.evaluation.rates import Rates
from sparkdl.training.evaluation.scores import ScoreCounts, bins_for
from sparkdl.training.reporting.text_table import align

YES = 0.5  # minimum share that counts as a yes
CURVE_CELLS = 2**22  # for positive and negative scores each


@dataclass(eq=False)
class MultiLabelEvaluation(PerColumn, Evaluation):
    """Counts of correct and wrong answers per label, and of scores; also for binary classification.

    Labels that are probabilities are a yes from 0.5 on; the loss is that of the probabilities.

    Parameters
    ----------
    size : int
        Number of labels, at least 1.
    labels : sequence of str or None
        Names of the labels; None names them by number.
    threshold : float
        Probabilities of at least so much are a yes, in (0, 1).
    bins : int or None
        Bins of scores for ROC and AUC where these are not exact. None: 4096, fewer for more than
        1,024 labels, which have 64 MB of counts at most.
    exact_scores : int or None
        Up to so many distinct scores, of all labels together, ROC and AUC are exact; 0: never.
        None: 4,194,304, above 32 labels 2**27 / size.
    """

    size: int
    labels: tuple[str, ...] | None = None
    threshold: float = 0.5
    bins: int | None = None
    exact_scores: int | None = None

    sums: ClassVar[tuple[str, ...]] = (
        *(*Evaluation.sums, "exact", "right"),
        *("hits", "predicted", "occurring", "scores"),
    )

    def __post_init__(self) -> None:
        require(self, "size", is_integer(self.size, 1), "an integer >= 1")
        set_names(self, self.size)
        sound = isinstance(self.threshold, Real) and 0 < self.threshold < 1
        require(self, "threshold", sound, "in (0, 1)")
        self.bins = bins_for(self.size, CURVE_CELLS) if self.bins is None else self.bins
        require(self, "bins", is_integer(self.bins, 1), "an integer >= 1")
        self.exact_scores = limit_for(self.size) if self.exact_scores is None else self.exact_scores
        require(self, "exact_scores", is_integer(self.exact_scores, 0), "an integer >= 0")
        super().__post_init__()
        self.exact = 0
        zeros = (np.zeros(self.size, np.int64) for _ in range(4))
        self.right, self.hits, self.predicted, self.occurring = zeros
        self.scores = ScoreCounts.empty(self.size, self.bins, self.exact_scores)

    def add(
        self,
        predictions: np.ndarray,
        labels: np.ndarray,
        losses: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Counts (n, size) probabilities and labels from 0 to 1 in; see Evaluation.add."""
        predictions = check_probabilities(predictions, self.size)
        shares = check_shares(labels, predictions.shape)
        truth, weights = shares >= YES, check_weights(weights, len(shares))
        if losses is None:
            losses = shares * cross_entropy(predictions)
            losses += (1 - shares) * cross_entropy(1 - predictions)
            losses = weigh(losses.sum(axis=1), weights)
        self._count_losses(losses, len(truth), weights)
        answer = predictions >= self.threshold
        self.exact += count_columns((answer == truth).all(axis=1), weights).item()
        self.right = self.right + count_columns(answer == truth, weights)
        self.hits = self.hits + count_columns(answer & truth, weights)
        self.predicted = self.predicted + count_columns(answer, weights)
        self.occurring = self.occurring + count_columns(truth, weights)
        self.scores.add(predictions, truth, weights)
        return self

    @property
    def accuracy(self) -> float:
        """Share of correct answers over all labels."""
        return float(self.right.sum() / (self.weight * self.size)) if self.weight else np.nan

    @property
    def exact_match(self) -> float:
        """Share of examples with all labels correct."""
        return self.exact / self.weight if self.weight else np.nan

    @property
    def by_label(self) -> Rates:
        """Rates, whose precision, recall and f1 are arrays (size,)."""
        return Rates(self.hits, self.predicted, self.occurring)

    rates = by_label

    def matthews_correlation(self, label: int | None = None) -> float:
        """Returns Matthews' correlation of one label, in [-1, 1]; None: the mean over labels.

        It is 0 where a label, or its prediction, does not vary.
        """
        total = float(self.scores.positive[0].sum() + self.scores.negative[0].sum())
        if not total:
            return float("nan")
        return pick_or_mean(self.by_label.matthews(total), label)

    def calibration_error(self, label: int | None = None) -> float:
        """Returns the expected calibration error of one label's probabilities, in [0, 1]; None: the
        mean over labels.

        Of 15 bins of equal width; of scores that are binned anyway once they are not `exact`.
        """
        errors = [
            calibration_error(calibration_sums(scores, positive, positive + negative))
            for scores, positive, negative in self.scores.by_score()
        ]
        return pick_or_mean(np.array(errors), label)

    def figures(self) -> dict[str, float]:
        names = ("accuracy", "exact_match", "precision", "recall", "f1")
        figures = {name: float(getattr(self, name)) for name in names}
        return self._known_loss() | figures | {"auc": self.auc()} | self.metrics.figures()

    def __str__(self) -> str:
        if self.examples == 0:
            return "no examples"
        rows = [["examples", str(self.examples)]]
        rows += [[name, f"{value:.4f}"] for name, value in self.figures().items()]
        rows += self.auc_rows()
        return align(rows, left=1) + "\n\n" + self._label_table()

    def _label_table(self):
        columns = (*self._rates(), self.scores.auc())
        rows = [
            [name, *(f"{x[i]:.4f}" for x in columns), rounded(self.occurring[i])]
            for i, name in enumerate(self.labels)
        ]
        return align([["label", "precision", "recall", "f1", "auc", "positives"], *rows], left=1)

    def _rates(self):
        rates = self.by_label
        return rates.precision, rates.recall, rates.f1


def count_columns(answers, weights):
    """Returns the number (columns,) of True in bools (n, columns), or the sum of their weights."""
    return np.count_nonzero(answers, axis=0) if weights is None else weights @ answers


def check_shares(labels, shape):
    """Returns `labels` as float64 if they are numbers in [0, 1] of `shape`."""
    labels = check_values(labels, shape)
    outside = (labels < 0) | (labels > 1)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        actual = f"got {labels[row, column]} in example {row} at {column}"
        raise DataError(f"labels must be in [0, 1], {actual}; for other numbers use Regression")
    return labels
