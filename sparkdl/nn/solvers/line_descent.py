"""Steepest descent with a line search."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import dataclass
from sparkdl.nn.hints import Value
from sparkdl.nn.solvers.base import Solver


@dataclass(frozen=True, kw_only=True)
class LineDescent(Solver):
    """Steepest descent with a line search.

    References
    ----------
    Cauchy, Méthode générale pour la résolution des systèmes d'équations simultanées (1847). DL4J's
    LINE_GRADIENT_DESCENT.
    """

    curvature: ClassVar = 0.1

    def memory(self) -> Any:
        return NoMemory()


class NoMemory:
    """The memory of steepest descent: none."""

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Does nothing, as steepest descent has no memory."""

    def direction(self, grad: Value) -> np.ndarray:
        return -grad
