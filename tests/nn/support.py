"""Runs what is written in operations as a graph, so that its gradients are those of the engine."""

import numpy as np

from sparkdl.engine.autodiff import gradients
from sparkdl.engine.graph import Spec, Tensor, topological


def trace(function, *arrays):
    """The tensors for `arrays`, and what `function` makes of them."""
    inputs = [Tensor(Spec(a.shape, a.dtype.name)) for a in arrays]
    return inputs, function(*inputs)


def evaluate(outputs, inputs, arrays):
    """The values of `outputs` where the tensors `inputs` have the values `arrays`."""
    values = dict(zip(inputs, arrays, strict=True))
    for node in topological(outputs):
        made = node.op.reference(*(value_of(t, values) for t in node.inputs))
        made = made if isinstance(made, tuple) else (made,)
        values |= dict(zip(node.outputs, made, strict=True))
    return [value_of(t, values) for t in outputs]


def value_of(tensor, values):
    return tensor.value if tensor.value is not None else values[tensor]


def value_and_gradients(function, *arrays):
    """The scalar `function(*arrays)` and its gradient for each array, through the graph."""
    arrays = [np.asarray(a) for a in arrays]
    inputs, loss = trace(function, *arrays)
    value, *grads = evaluate([loss, *gradients(loss, inputs)], inputs, arrays)
    return value, grads
