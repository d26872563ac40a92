"""Runs what is written in operations as a compiled graph rather than on arrays."""

import numpy as np

from sparkdl.engine import Graph, Spec, Tensor, compile, value_and_grad


def run_as_graph(function, *arrays):
    """The list of arrays that `function` makes of `arrays`, traced and compiled."""
    inputs = {
        f"x{i}": Tensor(Spec(a.shape, a.dtype.name), name=f"x{i}") for i, a in enumerate(arrays)
    }
    outputs = {f"y{i}": y for i, y in enumerate(function(*inputs.values()))}
    results = compile(Graph(inputs, outputs)).run(dict(zip(inputs, arrays, strict=True)))
    return [results[name].copy() for name in outputs]


def value_and_gradients(function, *arrays):
    """The scalar `function(*arrays)` and its gradient for each array, traced and compiled."""
    return value_and_grad(function)(*(np.asarray(a) for a in arrays))


def label(value):
    """The name of a test case: its message, or as it prints itself, without addresses."""
    return "" if callable(value) else str(value)[:60]
