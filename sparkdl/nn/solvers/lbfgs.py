"""Quasi-Newton descent with limited memory (L-BFGS)."""

from collections import deque
from typing import Any

import numpy as np

from sparkdl.config import Integer, dataclass, option
from sparkdl.nn.hints import Value
from sparkdl.nn.solvers.base import Solver
from sparkdl.nn.solvers.line_search import Point


@dataclass(frozen=True, kw_only=True)
class Lbfgs(Solver):
    """Limited-memory BFGS: the direction follows from the gradient and the curvature of the last
    steps.

    References
    ----------
    Liu and Nocedal, On the limited memory BFGS method for large scale optimization (1989). Nocedal
    and Wright, Numerical optimization (2006), algorithms 7.4 and 7.5. DL4J's LBFGS.
    """

    history: int = option(Integer(minimum=1), "Number of steps that are remembered.", default=10)

    def memory(self) -> Any:
        return CorrectionPairs(self.history)

    def first_step(self, point: Point, direction: np.ndarray, length: float | None) -> float:
        return super().first_step(point, direction, None) if length is None else 1.0


class CorrectionPairs:
    """The last steps s and the gradient changes y along them."""

    def __init__(self, history: int) -> None:
        self.pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=history)

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Stores a step, unless the gradient did not grow along it and so tells no curvature."""
        product = step @ change
        if product > 1e-10 * (change @ change):
            self.pairs.append((step, change, 1 / product))

    def direction(self, grad: Value) -> np.ndarray:
        """Returns -H grad by the two-loop recursion; H is a scaled identity plus the pairs."""
        q, factors = -grad, []
        for s, y, inverse in reversed(self.pairs):
            factors.append(inverse * (s @ q))
            q = q - factors[-1] * y
        if self.pairs:
            _, y, inverse = self.pairs[-1]
            q = q / (inverse * (y @ y))
        for (s, y, inverse), factor in zip(self.pairs, reversed(factors)):
            q = q + (factor - inverse * (y @ q)) * s
        return q
