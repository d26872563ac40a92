"""Evaluation of networks whose predictions are not of the same kind as their labels."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.training.evaluation.base import Evaluation, check_weights


@dataclass(eq=False)
class MeanLoss(Evaluation):
    """Only the loss, as the network computes it.

    Parameters
    ----------
    labels : sequence of str or None
        Names of the outputs.
    """

    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.labels = None if self.labels is None else tuple(self.labels)

    def add(
        self,
        predictions: np.ndarray,
        labels: np.ndarray,
        losses: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Counts the (n,) losses of a batch in; see Evaluation.add."""
        if losses is None:
            raise ConfigError("MeanLoss needs the losses that the network computes, got None")
        weights = check_weights(weights, len(predictions))
        self._count_losses(losses, len(predictions), weights)
        return self

    @property
    def score(self) -> float:
        return -self.loss

    def figures(self) -> dict[str, float]:
        known = {"loss": self.loss, "score": self.score} if self.has_loss else {}
        return known | self.metrics.figures()

    def __str__(self) -> str:
        loss = f": loss {self.loss:.4f}" if self.has_loss else ""
        more = "".join(f", {name} {x:.4f}" for name, x in self.metrics.figures().items())
        return f"{self.examples} examples{loss}{more}"
