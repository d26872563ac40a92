"""Runs code written in operations as a compiled graph instead of on arrays."""

import numpy as np

from sparkdl.engine import Graph, Spec, Tensor, compile
from tests.support.gradients import value_and_grad


def run_as_graph(function, *arrays):
    """Traces and compiles `function`; returns the list of its outputs for `arrays`."""
    inputs = {
        f"x{i}": Tensor(Spec(a.shape, a.dtype.name), name=f"x{i}") for i, a in enumerate(arrays)
    }
    outputs = {f"y{i}": y for i, y in enumerate(function(*inputs.values()))}
    results = compile(Graph(inputs, outputs)).run(dict(zip(inputs, arrays, strict=True)))
    return [results[name].copy() for name in outputs]


def value_and_gradients(function, *arrays):
    """Returns the scalar `function(*arrays)` and its gradients, traced and compiled."""
    return value_and_grad(function)(*(np.asarray(a) for a in arrays))


def label(value):
    """Returns a test case's id: its message or printed form; "" for functions."""
    return "" if callable(value) else str(value)[:60]
