"""Gradient checks by central differences, shipped for users who write operations.

References
----------
The step h = eps^(1/3) and the error of order h^2: Press et al., Numerical Recipes (2007), 5.7.
"""

import numpy as np

from sparkdl.engine.autodiff import gradients, inner, inputs_like
from sparkdl.engine.compiler import compile
from sparkdl.engine.graph import Graph, constant


def check_gradients(function, *arrays, order=1, rtol=1e-6, atol=1e-7, seed=0):
    """Compares the gradients of `function` with central differences along a random direction.

    Parameters
    ----------
    function : takes one tensor per array and is written in operations; any float output
    arrays : float64; away from kinks, where differences are meaningless
    order : 2 also checks the gradient of the gradient

    Raises
    ------
    AssertionError with both numbers.
    """
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal(function(*arrays).shape)
    scalar = weighted_sum(function, weight)
    compare(scalar, arrays, rng, rtol, atol)
    if order > 1:
        directions = [rng.standard_normal(a.shape) for a in arrays]
        compare(slope(scalar, directions), arrays, rng, rtol, atol)


def weighted_sum(function, weight):
    """Returns the weighted sum of `function`'s output, a number that depends on every element."""
    return lambda *tensors: inner(function(*tensors), constant(weight))


def slope(scalar, directions):
    """Returns the directional derivative of a scalar function, again a scalar function."""

    def along(*tensors):
        grads = gradients(scalar(*tensors), tensors)
        total = inner(grads[0], constant(directions[0]))
        for grad, direction in zip(grads[1:], directions[1:], strict=True):
            total = total + inner(grad, constant(direction))
        return total

    return along


def compare(scalar, arrays, rng, rtol, atol):
    inputs = inputs_like(arrays)
    value = scalar(*inputs)
    outputs = {f"g{i}": g for i, g in enumerate(gradients(value, inputs))} | {"value": value}
    program = compile(Graph({t.name: t for t in inputs}, outputs))
    grads = run(program, arrays)
    for i, array in enumerate(arrays):
        direction = rng.standard_normal(array.shape)
        h = np.cbrt(np.finfo(array.dtype).eps) * max(1.0, float(np.abs(array).max(initial=0)))
        ends = [run(program, shift_one(arrays, i, s * h * direction))["value"] for s in (1, -1)]
        expected = (ends[0] - ends[1]) / (2 * h)
        actual = np.vdot(grads[f"g{i}"], direction)
        np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=f"argument {i}")


def run(program, arrays):
    outputs = program.run({f"x{i}": a for i, a in enumerate(arrays)})
    return {name: value.copy() for name, value in outputs.items()}


def shift_one(arrays, i, step):
    return [a + step if j == i else a for j, a in enumerate(arrays)]
