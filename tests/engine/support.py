"""Traces a function of arrays into a graph and runs it."""

import numpy as np

from sparkdl.engine import Graph, Spec, Tensor, compile, gradients, ops
from sparkdl.engine.backends.reference import Reference
from sparkdl.engine.program import Program


class Plain(Reference):
    """The reference backend without rewrites: every node runs as written."""

    rewrites = ()


def tensors(**arrays):
    """Returns {name: input tensor with the array's shape and dtype}."""
    return {n: Tensor(Spec(a.shape, a.dtype.name), name=n) for n, a in arrays.items()}


def trace(function, *arrays):
    """Returns the graph of `function` with inputs x0, x1, ... and outputs y0, y1, ..."""
    inputs = tensors(**feeds(arrays))
    ys = function(*inputs.values())
    ys = ys if isinstance(ys, tuple | list) else (ys,)
    return Graph(inputs, {f"y{i}": y for i, y in enumerate(ys)})


def feeds(arrays):
    return {f"x{i}": np.asarray(a) for i, a in enumerate(arrays)}


def run(function, *arrays):
    """Returns the compiled function's results as a list."""
    return list(results(compile(trace(function, *arrays)), arrays))


def run_plain(function, *arrays):
    """Does the same without fusion or chains."""
    return list(results(Program(trace(function, *arrays), Plain()), arrays))


def results(program, arrays):
    return [y.copy() for y in program.run(feeds(arrays)).values()]


def ops_of(program):
    """Returns the kinds of a program's operations, in order."""
    return [node.op.kind for node in program.graph.nodes]


def uniform(seed, *shape, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def distinct(seed, *shape):
    """Returns well-separated numbers in [-2, 2.01] in random order: no ties, none near 0."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(-2, 2.01, count)).reshape(shape)


def evaluate(graph, arrays):
    """Returns {output: array}, computed node by node in numpy: no rewrites, plan or lowering."""
    values = dict(zip(graph.inputs.values(), map(np.asarray, arrays), strict=True))
    for node in graph.nodes:
        inputs = (values[t] if t.value is None else t.value for t in node.inputs)
        results = node.op.compute(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        values |= zip(node.outputs, results, strict=True)
    outputs = {k: values[t] if t.value is None else t.value for k, t in graph.outputs.items()}
    return {name: value.copy() for name, value in outputs.items()}  # may be views of `arrays`


def compare(graph, arrays, rtol=1e-4, atol=2e-5):
    """Compares oneDNN with the reference on the same feeds."""
    expected = {k: v.copy() for k, v in compile(graph, "reference").run(feeds(arrays)).items()}
    onednn_gives(expected, graph, arrays, rtol, atol)


def onednn_gives(expected, graph, arrays, rtol, atol):
    found = compile(graph, "onednn").run(feeds(arrays))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol, atol, err_msg=name)


def with_gradients(function, *arrays):
    """Returns the graph of the gradients of a function's summed squares."""
    inputs = tensors(**feeds(arrays))
    grads = gradients(ops.sum(ops.square(function(*inputs.values()))), list(inputs.values()))
    return Graph(inputs, {f"g{i}": grad for i, grad in enumerate(grads)})


def close_on_onednn(graph, arrays, error=1e-4, sizes=None):
    """Does as `compare`, with a tolerance relative to each output's largest number.

    `sizes` may be {output: sums of the absolute values of its summands}: the tolerance is then
    relative to the largest of these.
    """
    expected = {k: v.copy() for k, v in compile(graph, "reference").run(feeds(arrays)).items()}
    found = compile(graph, "onednn").run(feeds(arrays))
    for name, value in expected.items():
        numbers = (sizes or {}).get(name, value)
        limit = error * max(np.abs(numbers).max(), 1e-6)
        np.testing.assert_allclose(found[name], value, 0, limit, err_msg=name)


def missing(found, contract):
    """Returns the names that a Protocol declares and an object lacks."""
    names = {*contract.__annotations__, *vars(contract)}
    return {n for n in names if not n.startswith("_") and not hasattr(found, n)}
