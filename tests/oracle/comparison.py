"""Comparison of two backends: differences that rounding cannot explain.

Each array's tolerance is measured, not set: the same graph is evaluated in float64 a few times with
random rounding errors of each result's type (see rounding.py). The tolerance is FACTOR times the
largest change of any entry in these runs, plus FLOOR units in the last place of the largest entry.
A gradient that is 0 in exact arithmetic is thus measured against the terms that cancel. Near a kink
(relu at 0, equal maxima, a clipping threshold) the runs fall on either side, so a jump is permitted
if one of them jumps. A difference is checked again with MANY and then MOST runs, some with larger
errors, before it is reported.
"""

from dataclasses import dataclass

import numpy as np

from sparkdl.errors import ConfigError, ShapeError
from tests.oracle.computing import Computation, start_of
from tests.oracle.rounding import UNIT, available

FACTOR, FLOOR = 6.0, 8.0
FEW, MANY, MOST = 3, 24, 240
LARGER = 3.0  # scale of the errors in every other of the MANY runs
OUT_OF_RANGE = 1e30  # float32 ends at 3e38, and squares overflow earlier


@dataclass(frozen=True)
class Difference:
    """An array that differs: its largest error, the permitted error, and its largest entry."""

    name: str
    error: float
    permitted: float
    scale: float

    def __str__(self):
        return (
            f"{self.name} is off by {self.error:.3g}, permitted {self.permitted:.3g}, "
            f"largest entry {self.scale:.3g}"
        )


@dataclass(frozen=True)
class Verdict:
    """The result of a case: its `differences`, or why it was not compared (`skipped`).

    `margin` is the largest ratio of error to permitted error of any array.
    """

    differences: tuple = ()
    skipped: str = ""
    margin: float = 0.0


def compare(case, backend="onednn"):
    """Returns the Verdict on a case. Exceptions of a backend propagate."""
    if not startable(case):
        return Verdict(skipped="refused")
    found = Computation(case, backend)()
    with available() as oracle:
        compute = Computation(case, oracle.name)
        exact = evaluated(compute, oracle)
        if oracle.infinite:
            found = Difference(oracle.infinite, np.inf, 0.0, np.inf)
            return Verdict(differences=(found,), margin=np.inf)
        if not oracle.largest < OUT_OF_RANGE:
            return Verdict(skipped="numbers beyond float32")
        spread = spread_of(compute, oracle, exact, FEW)
        unit = UNIT[case.conf.dtype]
        differences, margin = differing(found, exact, spread, unit)
        for runs in (MANY, MOST):
            if not differences:
                break
            more = spread_of(compute, oracle, exact, runs, larger=True)
            spread = {name: np.maximum(spread[name], more[name]) for name in spread}
            differences, margin = differing(found, exact, spread, unit)
        if differences and oracle.singular:
            return Verdict(skipped=f"no derivative in {oracle.singular}")
    return Verdict(differences=tuple(differences), margin=margin)


def startable(case):
    """Returns whether the initializers drawn can fill the parameters' shapes."""
    try:
        start_of(case)
    except (ConfigError, ShapeError):
        return False
    return True


def evaluated(compute, oracle, errors=None, size=1.0):
    oracle.errors, oracle.size, oracle.largest, oracle.infinite = errors, size, 0.0, ""
    oracle.singular = "" if errors is None else oracle.singular
    try:
        return compute()
    finally:
        oracle.errors = None


def spread_of(compute, oracle, exact, runs, larger=False):
    """Returns {name: largest change of an entry} over runs with random errors."""
    spread = dict.fromkeys(exact, 0.0)
    for run in range(runs):
        size = LARGER if larger and run % 2 else 1.0
        errors = np.random.default_rng([compute.case.seed, run, runs])
        noisy = evaluated(compute, oracle, errors, size)
        for name, array in exact.items():
            spread[name] = max(spread[name], largest(noisy[name] - array))
    return spread


def differing(found, exact, spread, unit):
    """Returns ([Difference], the largest ratio of error to permitted error)."""
    differences, margin = [], 0.0
    for name, wanted in exact.items():
        scale, floor = largest(wanted), UNIT["float32"] if "updated" in name else unit
        permitted = FACTOR * spread[name] + FLOOR * floor * scale + 1e-30
        error = np.nan_to_num(largest(found[name] - wanted), nan=np.inf)
        if not np.isfinite(wanted).all():
            continue
        margin = max(margin, error / permitted)
        if not error <= permitted:
            differences.append(Difference(name, error, permitted, scale))
    return differences, margin


def largest(array):
    """Returns the largest absolute value, 0 for an empty array."""
    with np.errstate(invalid="ignore"):
        return float(np.abs(array).max(initial=0.0))
