"""Line search: a step along a direction that decreases a function and flattens its slope.

References
----------
Nocedal and Wright, Numerical optimization (2006), algorithms 3.5 and 3.6 (the strong Wolfe
conditions, eq. 3.7) and eq. 3.59 (the least value of a cubic).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SUFFICIENT = 1e-4  # fraction of the decrease predicted by the initial slope


class Point(NamedTuple):
    """The value and the gradient of a function at a point."""

    value: float
    gradient: np.ndarray

    def is_flat(self, tolerance: float) -> bool:
        return bool(np.abs(self.gradient).max(initial=0.0) <= tolerance)


class End(NamedTuple):
    """An end of the bracketing interval of steps."""

    step: float
    value: float
    slope: float
    point: Point


def line_search(
    at: "Callable[[np.ndarray], Point]",
    x: np.ndarray,
    direction: np.ndarray,
    origin: "Point",
    first: float,
    solver: Any,
) -> "tuple[float, Point] | None":
    """Returns (step, Point) that satisfies the strong Wolfe conditions, or the best step found.

    Returns None if no step decreased the function in `solver.line_steps` evaluations.
    """
    slope = origin.gradient @ direction
    low, high, step = End(0.0, origin.value, slope, origin), None, first
    for _ in range(solver.line_steps):
        point = at(x + step * direction)
        end = End(step, point.value, point.gradient @ direction, point)
        promised = origin.value + SUFFICIENT * step * slope
        if not (end.value <= promised and (end.value < low.value or low.step == 0)):
            high = end
        elif abs(end.slope) <= -solver.curvature * slope:
            return step, point
        else:
            ahead = 1.0 if high is None else high.step - low.step
            high = low if end.slope * ahead >= 0 else high
            low = end
        step = 2 * step if high is None else cubic_minimum(low, high)
    return (low.step, low.point) if low.step > 0 else None


def cubic_minimum(low: End, high: End) -> float:
    """Returns the minimum of the cubic through two ends, or the midpoint if it is near an end.

    If the second end is not finite, it may be too far by powers of ten, so the result is much
    nearer to the first.
    """
    width = high.step - low.step
    if not np.isfinite([high.value, high.slope]).all():
        return low.step + 0.1 * width
    step = cubic(low, high)
    inside = 0.1 <= (step - low.step) / width <= 0.9
    return step if inside else low.step + 0.5 * width


def cubic(low: End, high: End) -> float:
    """Returns the step that minimizes the cubic through two values and slopes, or NaN."""
    width = high.step - low.step
    a = low.slope + high.slope - 3 * (high.value - low.value) / width
    square = a * a - low.slope * high.slope
    if square < 0:
        return np.nan
    b = np.copysign(np.sqrt(square), width)
    bottom = high.slope - low.slope + 2 * b
    return np.nan if bottom == 0 else high.step - width * (high.slope + b - a) / bottom
