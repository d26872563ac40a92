"""Compilation of graphs, and tracing of array functions into compiled programs."""

import numpy as np

from sparkdl.engine import backends
from sparkdl.engine.autodiff import gradients, inputs_like
from sparkdl.engine.graph import Graph


def compile(
    graph, backend="reference", bindings=None, strict=False, tf32=False, constant_bindings=False
):
    """Compiles `graph` into a Program.

    Program and Backend.program explain the arguments.
    """
    return backends.get(backend).program(graph, bindings, strict, tf32, constant_bindings)


def value_and_grad(function, backend="reference"):
    """Returns a function of arrays that computes the value and gradients of `function`.

    `function` is traced once per combination of shapes and dtypes.

    Parameters
    ----------
    function : takes tensors, returns one number as a tensor of shape ()

    Returns
    -------
    A function of arrays: (value, [gradient for each argument]); each call returns new arrays.
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
