"""Evaluation of networks that predict one of k classes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sparkdl.config import is_integer
from sparkdl.errors import ConfigError, DataError, brief, require
from sparkdl.training.evaluation.base import (
    Evaluation,
    check_weights,
    clipped,
    numbers_of,
    probability_table,
    real_numbers,
    set_names,
    weigh,
)
from sparkdl.training.evaluation.calibration import BINS, calibration_error, calibration_sums
from sparkdl.training.evaluation.classification_report import report
from sparkdl.training.evaluation.distinct_scores import limit_for
from sparkdl.training.evaluation.packed_counts import pack, unpack
from sparkdl.training.evaluation.pair_counts import PairCounts
from sparkdl.training.evaluation.per_column import PerColumn
from sparkdl.training.evaluation.rates import Rates
from sparkdl.training.evaluation.row_blocks import blocks_of
from sparkdl.training.evaluation.scores import ScoreCounts, bins_for

CURVE_CELLS = 2**19  # 8 MB of counts, sent from each executor


@dataclass(eq=False)
class Classification(PerColumn, Evaluation):
    """Counts of pairs (truth, prediction), ranks and counts of scores of single-label predictions.

    The predicted class is the one with the largest probability, the first of equals. Means over
    classes (`precision`, `recall`, `f1`) are over all k classes, as scikit-learn's with
    labels=range(k), average="macro", zero_division=0.

    Parameters
    ----------
    classes : int
        Their number k, at least 2.
    labels : sequence of str or None
        Names of the classes; None names them by number.
    top : tuple of int
        Which top-k accuracies the report shows, of those below k.
    bins : int or None
        Bins of scores for ROC and AUC where these are not exact; None takes 4096, fewer above 128
        classes.
    exact_scores : int or None
        Up to so many distinct scores, of all classes together, ROC and AUC are exact; 0: never. An
        example gives a score for each class. None: 4,194,304, above 32 classes 2**27 / classes.
    """

    classes: int
    labels: tuple[str, ...] | None = None
    top: tuple[int, ...] = (1, 5)
    bins: int | None = None
    exact_scores: int | None = None

    sums: ClassVar[tuple[str, ...]] = (*Evaluation.sums, "pairs", "ranks", "scores", "confidences")

    def __post_init__(self) -> None:
        require(self, "classes", is_integer(self.classes, 2), "an integer >= 2")
        set_names(self, self.classes)
        self._set_top()
        self.bins = bins_for(self.classes, CURVE_CELLS) if self.bins is None else self.bins
        require(self, "bins", is_integer(self.bins, 1), "an integer >= 1")
        self.exact_scores = (
            limit_for(self.classes) if self.exact_scores is None else self.exact_scores
        )
        sound = is_integer(self.exact_scores, 0)
        require(self, "exact_scores", sound, "an integer >= 0")
        super().__post_init__()
        self.pairs = PairCounts(self.classes)
        self.ranks = np.zeros(self.classes, np.int64)
        self.scores = ScoreCounts.empty(self.classes, self.bins, self.exact_scores)
        self.confidences = np.zeros((3, BINS))

    def _set_top(self):
        """Keeps the top-k accuracies with k below the number of classes."""
        require(self, "top", isinstance(self.top, Iterable), "integers >= 1")
        self.top = tuple(self.top)
        require(self, "top", all(is_integer(k, 1) for k in self.top), "integers >= 1")
        self.top = tuple(k for k in self.top if k < self.classes)

    def add(
        self,
        predictions: np.ndarray,
        labels: np.ndarray,
        losses: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Counts (n, k) probabilities and (n,) labels in; see Evaluation.add.

        Labels (n, k) are one-hot, or probabilities: the class is that of the largest.
        """
        predictions = probability_table(predictions, self.classes)
        labels = check_classes(class_of(labels, self.classes), len(predictions), self.classes)
        chosen = clipped(predictions[np.arange(len(labels)), labels])
        weights = check_weights(weights, len(labels))
        losses = weigh(cross_entropy(chosen), weights) if losses is None else losses
        self._count_losses(losses, len(labels), weights)
        for part in blocks_of(predictions.shape):
            few = None if weights is None else weights[part]
            self._count(clipped(predictions[part]), labels[part], chosen[part], few)
        return self

    def _count(self, predictions, labels, chosen, weights):
        """Counts a few examples; `chosen` are the probabilities of their labels."""
        answers = predictions.argmax(axis=1)
        self.pairs.add(labels, answers, weights)
        each = np.ones(len(labels)) if weights is None else weights
        sums = calibration_sums(predictions.max(axis=1), each * (answers == labels), each)
        self.confidences = self.confidences + sums
        ranks = rank_of(predictions, labels, chosen)
        if weights is None:
            np.add.at(self.ranks, ranks, 1)
        else:
            self.ranks = self.ranks + np.bincount(ranks, weights, self.classes)
        truth = labels[:, np.newaxis] == np.arange(self.classes)
        self.scores.add(predictions, truth, weights)

    @property
    def confusion(self) -> np.ndarray:
        """Examples of each true (row) and predicted class, (k, k) int64; made when asked for.

        Sums of their weights, float64, if they have any.

        Raises ConfigError above 10,000 classes.
        """
        return self.pairs.matrix()

    @property
    def accuracy(self) -> float:
        """Share of examples whose most probable class is the true one."""
        return self.top_k(1)

    def top_k(self, k: int) -> float:
        """Returns the share of examples whose true class is among the k most probable ones.

        Raises ConfigError unless k is an integer >= 1.
        """
        if not is_integer(k, 1):
            raise ConfigError(f"k must be an integer >= 1, got {brief(k)}")
        return float(self.ranks[:k].sum() / self.weight) if self.weight else float("nan")

    @property
    def matthews_correlation(self) -> float:
        """Matthews' correlation of truth and prediction over all classes, in [-1, 1]; 0 where one
        of them does not vary.
        """
        return self.by_class.matthews_of_all()

    @property
    def calibration_error(self) -> float:
        """Expected calibration error of the predicted classes' probabilities, of 15 bins of equal
        width, in [0, 1].
        """
        return calibration_error(self.confidences)

    @property
    def by_class(self) -> Rates:
        """Rates, whose precision, recall and f1 are arrays (k,)."""
        return Rates(*self.pairs.by_class())

    rates = by_class

    @property
    def occurring(self) -> np.ndarray:
        """Examples of each class, (k,) int64; sums of their weights, float64, if they have any."""
        return self.by_class.occurring

    def figures(self) -> dict[str, float]:
        top = {f"top_{k}": self.top_k(k) for k in self.top if k > 1}
        means = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        first = self._known_loss() | {"accuracy": self.accuracy}
        return first | top | means | {"auc": self.auc()} | self.metrics.figures()

    def __str__(self) -> str:
        return report(self)

    def __getstate__(self):
        plain = self.labels == numbers_of(self.classes)
        more = {"ranks": pack(self.ranks), "labels": None if plain else self.labels}
        return self.__dict__ | more

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.ranks = unpack(self.ranks, (self.classes,))
        self.labels = numbers_of(self.classes) if self.labels is None else self.labels


def cross_entropy(probabilities):
    """Returns -log p in nats, (n,) from (n,); p is at least the smallest normal float32."""
    return -np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))


def class_of(labels, classes):
    """Converts one-hot labels (n, classes) to labels (n,); returns others unchanged."""
    labels = real_numbers(labels, "labels")
    rows = labels.ndim == 2 and labels.shape[1] == classes
    return labels.argmax(axis=1) if rows else labels


def check_classes(labels, size, classes):
    """Returns `labels` as int64 if they are `size` integers in [0, classes)."""
    labels = np.asarray(labels)
    if labels.shape != (size,) or labels.dtype.kind not in "iu":
        raise DataError(f"labels must be {size} integers, got {labels.dtype} {labels.shape}")
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"labels must be in [0, {classes}), got {labels[row]} in example {row}")
    return labels.astype(np.int64)


def rank_of(predictions, labels, chosen):
    """Returns the rank of the true class: the number of larger probabilities, or equal ones before
    it.
    """
    larger = predictions > chosen[:, np.newaxis]
    tied = predictions == chosen[:, np.newaxis]
    before = np.arange(predictions.shape[1]) < labels[:, np.newaxis]
    return np.count_nonzero(larger | (tied & before), axis=1)
