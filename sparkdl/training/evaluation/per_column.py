"""Figures per class or per label, and their means."""

from typing import TYPE_CHECKING

import numpy as np

from sparkdl.config import is_integer
from sparkdl.config.constraints.numbers import is_number
from sparkdl.errors import ConfigError, brief
from sparkdl.training.evaluation.scores import Roc

if TYPE_CHECKING:
    from sparkdl.training.evaluation.metric_counts import MetricCounts
    from sparkdl.training.evaluation.rates import Rates
    from sparkdl.training.evaluation.scores import ScoreCounts


class PerColumn:
    """Mixin that needs `accuracy`, `rates` (Rates per column) and `scores` (ScoreCounts)."""

    if TYPE_CHECKING:
        scores: ScoreCounts
        metrics: MetricCounts

        @property
        def accuracy(self) -> float: ...

        @property
        def rates(self) -> Rates: ...

    @property
    def precision(self) -> float:
        """Mean over columns, as are `recall` and `f1`."""
        return float(self.rates.precision.mean())

    @property
    def recall(self) -> float:
        return float(self.rates.recall.mean())

    @property
    def f1(self) -> float:
        return float(self.rates.f1.mean())

    def f_beta(self, beta: float, column: int | None = None) -> float:
        """Returns the F-beta score of one column; None: the mean over columns.

        The recall counts `beta` times as much as the precision: 1 gives `f1`, 0 the precision.

        Raises ConfigError unless beta is a finite number >= 0.
        """
        if not (is_number(beta) and 0 <= beta < np.inf):
            raise ConfigError(f"beta must be a finite number >= 0, got {brief(beta)}")
        return pick_or_mean(self.rates.f_beta(beta), column)

    def average_precision(self, column: int | None = None) -> float:
        """Returns the area under one column's precision-recall curve; None: the mean over columns
        that have one.

        A column has one unless it never occurs. The area is that of the steps, as scikit-learn's
        average_precision_score, of the scores themselves while `auc_is_exact`, otherwise of their
        bins.
        """
        return pick_or_mean(self.scores.average_precision(), column)

    def roc(self, column: int) -> Roc:
        """Returns the Roc of one label, or of one class against the rest."""
        check_column(column, len(self.scores.positive))
        return self.scores.roc(column)

    def auc(self, column: int | None = None) -> float:
        """Returns the area under one column's ROC; None: the mean over columns that have one.

        A column has one unless it never occurs or is all there is. It is that of the scores
        themselves, ties counting half, while there are at most `exact_scores` distinct ones, of all
        columns together (`auc_is_exact`). Above that scores are binned: `auc_error` says how far
        this is from the exact value at most.
        """
        return pick_or_mean(self.scores.auc(), column)

    def auc_error(self, column: int | None = None) -> float:
        """Returns the largest possible difference of `auc(column)` and the scores' own AUC."""
        return pick_or_mean(self.scores.auc_error(), column)

    @property
    def auc_is_exact(self) -> bool:
        """True if `auc` and `roc` are of the scores themselves, not of bins."""
        return self.scores.exact

    @property
    def score_bytes(self) -> int:
        return self.scores.nbytes + self.metrics.score_bytes

    def drop_scores(self) -> None:
        self.scores = self.scores.without_scores()
        self.metrics.drop_scores()

    def auc_rows(self) -> list[list[str]]:
        """Returns a row for a report if the AUC is not exact."""
        error = self.auc_error()
        return [["auc is off by at most", f"{error:.4f}"]] if error > 0 else []

    @property
    def score(self) -> float:
        return self.accuracy


def pick_or_mean(values, column):
    """Returns values[column], or for None the mean of those that are not nan; nan if there are
    none.
    """
    if column is not None:
        check_column(column, len(values))
        return float(values[column])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def check_column(column, size):
    """Raises ConfigError unless `column` is one of `size`; negative ones count from the end."""
    if not is_integer(column, -size) or column >= size:
        raise ConfigError(f"column must be an integer in [0, {size}), got {brief(column)}")
