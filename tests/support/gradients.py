"""Value and gradients of array functions, traced and compiled."""

import numpy as np

from sparkdl.engine import Graph, compile, gradients
from sparkdl.engine.autodiff import inputs_like


def value_and_grad(function, backend="reference"):
    """Returns a function of arrays that computes the value and gradients of `function`.

    `function` is traced once per combination of shapes and dtypes.

    It takes tensors and returns one number as a tensor of shape (). The result takes arrays and
    returns (value, [gradient for each argument]), new arrays at each call.
    """
    programs = {}

    def call(*arrays):
        arrays = [np.asarray(a) for a in arrays]
        key = tuple((a.shape, a.dtype.name) for a in arrays)
        if key not in programs:
            programs[key] = trace_value_and_grad(function, arrays, backend)
        outputs = programs[key].run({f"x{i}": a for i, a in enumerate(arrays)})
        grads = [outputs[f"g{i}"].copy() for i in range(len(arrays))]
        return outputs["value"].copy()[()], grads

    return call


def trace_value_and_grad(function, arrays, backend):
    inputs = inputs_like(arrays)
    value = function(*inputs)
    grads = {f"g{i}": g for i, g in enumerate(gradients(value, inputs))}
    graph = Graph({t.name: t for t in inputs}, {"value": value, **grads})
    return compile(graph, backend)
