"""Compares the "cuda" backend with the reference."""

import numpy as np

from sparkdl.engine import compile
from tests.engine.cases import CASES
from tests.engine.support import feeds, trace, with_gradients

NEARLY_NOTHING = "BatchNorm of"  # the gradient of a constant is rounding error only


def values(graph, arrays, backend):
    return {name: np.array(y) for name, y in compile(graph, backend).run(feeds(arrays)).items()}


def assert_same(graph, arrays, error=1e-6, runs=3, edges=False):
    """Compares both backends on the same feeds: run eagerly, during capture, and by graph replay.

    `error` is relative to each output's largest number, or with `edges` to each number.
    """
    expected = values(graph, arrays, "reference")
    program = compile(graph, "cuda")
    for _ in range(runs):
        found = program.run(feeds(arrays))
        for name, value in expected.items():
            assert found[name].dtype == value.dtype and found[name].shape == value.shape
            near(found[name], value, error, edges)
    return program


def assert_row(name):
    """Checks a row of the table of operations, including its gradient if it has one."""
    case = CASES[name]
    arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in case.arrays]
    make = with_gradients if case.order else trace
    error = 1e-3 if name.startswith(NEARLY_NOTHING) else 1e-5
    return assert_same(make(case.op, *arrays), arrays, error, runs=2)


def near(found, expected, error, edges=False):
    found, expected = (np.asarray(a, np.float64) for a in (found, expected))
    finite = expected[np.isfinite(expected)]
    limit = error * max(np.abs(finite).max(initial=0), 1e-6)
    np.testing.assert_allclose(found, expected, *((error, 1e-44) if edges else (0, limit)))
