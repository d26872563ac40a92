"""Evaluation of networks that predict numbers."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sparkdl.config import is_integer
from sparkdl.errors import require
from sparkdl.training.evaluation.base import (
    Evaluation,
    check_predictions,
    check_values,
    check_weights,
    set_names,
    weigh,
)
from sparkdl.training.evaluation.moments import Moments
from sparkdl.training.reporting.text_table import align


@dataclass(eq=False)
class Regression(Evaluation):
    """Errors and correlation per column.

    `mse`, `mae`, `rmse`, `r2`, `correlation` are means over columns, `by_column[name]` the arrays.

    Parameters
    ----------
    size : int
        Columns, at least 1.
    labels : sequence of str or None
        Names of the columns; None names them by number.
    """

    size: int
    labels: tuple[str, ...] | None = None

    sums: ClassVar[tuple[str, ...]] = (*Evaluation.sums, "absolute", "squared", "moments")

    def __post_init__(self) -> None:
        require(self, "size", is_integer(self.size, 1), "an integer >= 1")
        set_names(self, self.size)
        super().__post_init__()
        self.absolute = np.zeros(self.size)
        self.squared = np.zeros(self.size)
        self.moments = Moments.empty(self.size)

    def add(
        self,
        predictions: np.ndarray,
        labels: np.ndarray,
        losses: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Counts (n, size) predictions and labels in; see Evaluation.add. The loss is the mse."""
        predictions = check_predictions(predictions, self.size)
        labels = check_values(labels, predictions.shape)
        error, weights = predictions - labels, check_weights(weights, len(predictions))
        losses = weigh((error**2).mean(axis=1), weights) if losses is None else losses
        self._count_losses(losses, len(error), weights)
        self.absolute += weigh(np.abs(error), weights).sum(axis=0)
        self.squared += weigh(error**2, weights).sum(axis=0)
        self.moments += Moments.of(labels, predictions, weights)
        return self

    @property
    def by_column(self) -> dict[str, np.ndarray]:
        """mse, mae, rmse, r2, correlation: arrays (size,) by name.

        r2 is scikit-learn's: 1 - squared error / variation of the labels, 1 or 0 where the labels
        do not vary, nan below two examples. correlation is nan where one side does not vary.
        """
        with np.errstate(invalid="ignore"):
            mse, mae = self.squared / self.weight, self.absolute / self.weight
        r2, correlation = self._r2(), self.moments.correlation()
        return {"mse": mse, "mae": mae, "rmse": mse**0.5, "r2": r2, "correlation": correlation}

    def _r2(self):
        if self.examples < 2:
            return np.full(self.size, np.nan)
        constant = np.where(self.squared == 0, 1.0, 0.0)
        variation = self.moments.xx
        ratio = np.divide(self.squared, variation, out=1 - constant, where=variation > 0)
        return 1 - ratio

    @property
    def mse(self) -> float:
        """Mean squared error; like all five the mean over columns."""
        return float(self.by_column["mse"].mean())

    @property
    def mae(self) -> float:
        """Mean absolute error."""
        return float(self.by_column["mae"].mean())

    @property
    def rmse(self) -> float:
        """Root of the mean squared error of a column."""
        return float(self.by_column["rmse"].mean())

    @property
    def r2(self) -> float:
        """Share of the labels' variation that is explained."""
        return float(self.by_column["r2"].mean())

    @property
    def correlation(self) -> float:
        """Pearson's, of predictions with labels."""
        return float(self.by_column["correlation"].mean())

    @property
    def score(self) -> float:
        return self.r2

    def figures(self) -> dict[str, float]:
        means = {name: float(values.mean()) for name, values in self.by_column.items()}
        return self._known_loss() | means | self.metrics.figures()

    def __str__(self) -> str:
        if self.examples == 0:
            return "no examples"
        columns, names = self.by_column, self.labels or ()
        rows = [
            [name, *(f"{values[i]:.6g}" for values in columns.values())]
            for i, name in enumerate(names)
        ]
        single = self._known_loss() | self.metrics.figures()
        loss = [[name, f"{value:.6g}"] for name, value in single.items()]
        head = align([["examples", str(self.examples)], *loss], left=1)
        return head + "\n\n" + align([["column", *columns], *rows], left=1)
