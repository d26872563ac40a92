"""Reverse-mode differentiation on the graph: a gradient is a graph like any other."""

import numpy as np

from sparkdl.engine.accumulation import total
from sparkdl.engine.dtypes import is_float
from sparkdl.engine.graph import Spec, Tensor, constant, scope, topological
from sparkdl.engine.ops.elementwise import mul
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import cast
from sparkdl.errors import ShapeError


def gradients(loss, wrt, seed=None):
    """Returns the gradient of a scalar with respect to each tensor of `wrt`, as tensors.

    Parameters
    ----------
    loss : Tensor of shape ()
    wrt : sequence of Tensor
    seed : Tensor like `loss`, the gradient with respect to it; default 1

    Raises
    ------
    ShapeError if the loss is not one number.
    """
    if seed is None and loss.shape != ():
        raise ShapeError(f"gradients are of one number, got a loss of shape {loss.shape}")
    start = constant(1, loss.dtype) if seed is None else seed
    grads = backward({loss: start}, wrt)
    return [grads.get(t, zeros_like(t)) for t in wrt]


def pullback(function, inputs, gys):
    """Returns the gradients of `function` at the tensors `inputs`, given those of its outputs.

    These are partial derivatives: where one input was computed from another, the path between them
    is not followed.
    """
    ys, gys = as_tuple(function(*inputs)), as_tuple(gys)
    grads = {y: gy for y, gy in zip(ys, gys, strict=True) if gy is not None}
    grads = backward(grads, inputs, stop=inputs)
    # a tensor passed twice gets its whole gradient at its first position
    return tuple(grads.pop(t, None) for t in inputs)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def backward(grads, wrt, stop=()):
    """Propagates gradients {tensor: gradient} back to the tensors `wrt`, but not beyond `stop`.

    A gradient has the dtype of its tensor; integer tensors have none.

    Returns
    -------
    {tensor of `wrt`: gradient}, without tensors that nothing depends on.
    """
    order = topological(grads, stop)
    needed, parts = nodes_between(order, wrt), {t: [grad] for t, grad in grads.items()}
    for node in (n for n in reversed(order) if n in needed):
        gys = tuple(sum_gradients(parts, t) for t in node.outputs)
        if all(g is None for g in gys):
            continue
        with scope(f"{node.scope}:grad" if node.scope else "grad"):
            for tensor, grad in zip(node.inputs, node_gradients(node, gys), strict=True):
                acts = is_float(tensor.dtype) and (tensor in wrt or tensor.node in needed)
                if grad is not None and acts:
                    parts.setdefault(tensor, []).append(cast(grad, tensor.dtype))
    return {t: sum_gradients(parts, t) for t in wrt if t in parts}


def sum_gradients(parts, tensor):
    """Sums the gradients from all users of a tensor, in the last one's scope, or returns None."""
    if tensor in parts:
        last = next((g.node for g in reversed(parts[tensor]) if g.node is not None), None)
        with scope(last.scope if last else "grad"):
            parts[tensor] = [total(parts[tensor])]
        return parts[tensor][0]


def nodes_between(order, wrt):
    """Returns the nodes that depend on any tensor of `wrt`."""
    targets, nodes = set(wrt), set()
    for node in order:
        if any(t in targets or t.node in nodes for t in node.inputs):
            nodes.add(node)
    return nodes


def node_gradients(node, gys):
    """Returns the gradients that one node passes to its inputs."""
    alone = len(node.outputs) == 1
    gy, y = (gys[0], node.outputs[0]) if alone else (gys, node.outputs)
    grads = node.op.gradient(gy, *node.inputs, y)
    return pullback(node.op.decompose, node.inputs, gy) if grads is NotImplemented else grads


def zeros_like(tensor):
    return constant(np.zeros(tensor.shape, tensor.dtype))


def inner(x, y):
    """Returns the inner product of two tensors of one shape, a scalar."""
    return sum_along(mul(x, y))


def inputs_like(arrays):
    """Returns an input tensor for each array."""
    return [Tensor(Spec(a.shape, a.dtype.name), name=f"x{i}") for i, a in enumerate(arrays)]
