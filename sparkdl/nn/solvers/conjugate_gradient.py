"""Nonlinear conjugate gradients."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import dataclass
from sparkdl.nn.hints import Value
from sparkdl.nn.solvers.base import Solver


@dataclass(frozen=True, kw_only=True)
class ConjugateGradient(Solver):
    """Nonlinear conjugate gradient: the negative gradient plus beta times the last direction.

    References
    ----------
    Polak and Ribière, Note sur la convergence de méthodes de directions conjuguées (1969), with
    beta kept from below 0: Nocedal and Wright, Numerical optimization (2006), eq. 5.44 and 5.45.
    DL4J's CONJUGATE_GRADIENT.
    """

    curvature: ClassVar = 0.1

    def memory(self) -> Any:
        return PreviousStep()


class PreviousStep:
    """The gradient and the direction of the previous step."""

    def __init__(self) -> None:
        self.grad = self.along = None

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Does nothing, as `direction` has already stored the gradient."""

    def direction(self, grad: Value) -> np.ndarray:
        along = -grad
        if self.grad is not None:
            beta = max(0.0, grad @ (grad - self.grad) / (self.grad @ self.grad))
            along = along + beta * self.along
        self.grad, self.along = grad, along
        return along
