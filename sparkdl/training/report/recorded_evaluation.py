"""An evaluation read from a log: what pages show of it, without its counts."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparkdl.training.evaluation.pair_counts import PairCounts
from sparkdl.training.reporting.inspection import WrongExample


@dataclass(frozen=True, kw_only=True)
class RecordedEvaluation:
    """Figures of an Evaluation; for the last one of a fit also its curves, matrix and text.

    Parameters
    ----------
    score : float
    numbers : {str: float}
        Its figures by name.
    labels : tuple of str
        Names of the classes; empty if there is no confusion matrix.
    matrix : list of list of int or float
        Examples, or sums of weights, of each true (row) and predicted class; empty if `counted` is
        used instead.
    counted : list of three lists of numbers
        For many classes: true classes, predicted classes, and the counts of these pairs.
    roc : list of {"name", "x", "y"}
    calibration : list of (mean score, share of positives, examples)
    wrong : list of WrongExample
    text : str
    """

    score: float
    numbers: dict[str, Any]
    labels: tuple[str, ...] = ()
    matrix: list[list[int]] = field(default_factory=list)
    counted: list[list[int]] = field(default_factory=list)
    roc: list[dict[str, Any]] = field(default_factory=list)
    calibration: list[tuple[float, float, int]] = field(default_factory=list)
    wrong: list[WrongExample] = field(default_factory=list)
    text: str = ""

    @property
    def classes(self) -> int:
        return len(self.labels)

    @property
    def confusion(self) -> np.ndarray:
        return self.pairs.matrix()

    @property
    def pairs(self) -> PairCounts:
        if not self.counted:
            return PairCounts.of_matrix(self.matrix)
        truth, predicted = (np.array(one, np.int64) for one in self.counted[:2])
        return PairCounts(self.classes, truth * self.classes + predicted, self.counted[2])

    def figures(self) -> dict[str, Any]:
        return self.numbers

    def __str__(self) -> str:
        return self.text
