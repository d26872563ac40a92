"""Base of the solvers: a rule for the next direction, and a line search along it."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sparkdl.config import Integer, Member, Number, dataclass, option
from sparkdl.nn.hints import Value
from sparkdl.nn.solvers.line_search import Point, line_search


class Solution(NamedTuple):
    """The result of a solver: the point that it reached, and the work it took.

    Parameters
    ----------
    params, gradient : array of one dimension
        The point, and the gradient there.
    value : float
        The value there.
    iterations, evaluations : int
        Steps, and how often value and gradient were computed.
    converged : bool
        Whether the gradient is as small as was asked for, rather than that iterations ran out or
        no step along the last direction made the value smaller.
    """

    params: np.ndarray
    value: float
    gradient: np.ndarray
    iterations: int
    evaluations: int
    converged: bool


@dataclass(frozen=True, kw_only=True)
class Solver(Member):
    """Base of all solvers, which need the exact value and gradient at one float64 vector.

    So they are for full batches. On minibatches, whose gradients differ from step to step, they
    fail; use an optimizer.
    """

    curvature: ClassVar[float] = 0.9  # fraction of the initial slope at which a line search may end

    iterations: int = option(Integer(minimum=1), "Largest number of line searches.", default=100)
    tolerance: float = option(
        Number(minimum=0),
        "The solver stops once no entry of the gradient is larger.",
        default=1e-5,
    )
    line_steps: int = option(
        Integer(minimum=1), "Evaluations that one line search may take.", default=20
    )

    def memory(self) -> Any:
        """Makes a memory; its `direction(grad)` is -grad until `add(step, change)` adds a step."""
        raise NotImplementedError

    def minimize(self, function: Callable[[Any], Any], start: np.ndarray) -> "Solution":
        """Returns the Solution that `function` is led to from `start`.

        Parameters
        ----------
        function : vector -> (value, gradient like the vector)
        start : float (n,)
        """
        count = CountedFunction(function)
        x = np.array(start, np.float64)
        point, memory, length = count.at(x), self.memory(), None
        for iteration in range(self.iterations):
            if point.is_flat(self.tolerance):
                return count.solution(x, point, iteration, True)
            direction = memory.direction(point.gradient)
            if not point.gradient @ direction < 0:
                memory = self.memory()
                direction = memory.direction(point.gradient)
            first = self.first_step(point, direction, length)
            end = line_search(count.at, x, direction, point, first, self)
            if end is None:
                return count.solution(x, point, iteration, False)
            step, next_point = end
            length = step * -(point.gradient @ direction)
            memory.add(step * direction, next_point.gradient - point.gradient)
            x, point = x + step * direction, next_point
        return count.solution(x, point, self.iterations, point.is_flat(self.tolerance))

    def first_step(self, point: Point, direction: np.ndarray, length: float | None) -> float:
        """Returns the first step to try: one that promises what the last one did (`length`)."""
        slope = -(point.gradient @ direction)
        return 1 / np.sqrt(direction @ direction) if length is None else length / slope


class CountedFunction:
    """A function that counts its evaluations."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function, self.evaluations = function, 0

    def at(self, x: Value) -> Point:
        """Returns the Point at x."""
        self.evaluations += 1
        value, gradient = self.function(x)
        return Point(float(value), np.asarray(gradient, np.float64))

    def solution(self, x: Value, point: Point, iterations: int, converged: bool) -> "Solution":
        return Solution(x, point.value, point.gradient, iterations, self.evaluations, converged)
