"""Traces a function of arrays into a graph, and runs it."""

import numpy as np

from sparkdl.engine import Graph, Spec, Tensor, compile, gradients, ops
from sparkdl.engine.backends.reference import Reference
from sparkdl.engine.program import Program


class Plain(Reference):
    """The reference backend without any rewriting: every node runs as it was written."""

    rewrites = ()


def tensors(**arrays):
    """{name: an input tensor like the array}"""
    return {n: Tensor(Spec(a.shape, a.dtype.name), name=n) for n, a in arrays.items()}


def trace(function, *arrays):
    """The graph of `function` with inputs x0, x1, ... and outputs y0, y1, ..."""
    inputs = tensors(**feeds(arrays))
    ys = function(*inputs.values())
    ys = ys if isinstance(ys, tuple | list) else (ys,)
    return Graph(inputs, {f"y{i}": y for i, y in enumerate(ys)})


def feeds(arrays):
    return {f"x{i}": np.asarray(a) for i, a in enumerate(arrays)}


def run(function, *arrays):
    """What the compiled function gives, always as a list."""
    return list(results(compile(trace(function, *arrays)), arrays))


def run_plain(function, *arrays):
    """The same without fusion or chains."""
    return list(results(Program(trace(function, *arrays), Plain()), arrays))


def results(program, arrays):
    return [y.copy() for y in program.run(feeds(arrays)).values()]


def ops_of(program):
    """The names of the operations of a program, in order."""
    return [node.op.kind for node in program.graph.nodes]


def uniform(seed, *shape, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def distinct(seed, *shape):
    """Numbers between -2 and 2 that lie well apart, in random order: no ties, none near 0."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(-2, 2.01, count)).reshape(shape)


def evaluate(graph, arrays):
    """{output: array}, node after node in numpy: nothing is rewritten, planned or lowered."""
    values = dict(zip(graph.inputs.values(), map(np.asarray, arrays), strict=True))
    for node in graph.nodes:
        inputs = (values[t] if t.value is None else t.value for t in node.inputs)
        results = node.op.compute(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        values |= zip(node.outputs, results, strict=True)
    outputs = {k: values[t] if t.value is None else t.value for k, t in graph.outputs.items()}
    return {name: value.copy() for name, value in outputs.items()}  # may be views of `arrays`


def compare(graph, arrays, rtol=1e-4, atol=2e-5):
    """Both backends on the same feeds."""
    expected = {k: v.copy() for k, v in compile(graph, "reference").run(feeds(arrays)).items()}
    onednn_gives(expected, graph, arrays, rtol, atol)


def onednn_gives(expected, graph, arrays, rtol, atol):
    found = compile(graph, "onednn").run(feeds(arrays))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol, atol, err_msg=name)


def with_gradients(function, *arrays):
    """The graph of a function's square and its gradients."""
    inputs = tensors(**feeds(arrays))
    grads = gradients(ops.sum(ops.square(function(*inputs.values()))), list(inputs.values()))
    return Graph(inputs, {f"g{i}": grad for i, grad in enumerate(grads)})


def close_on_onednn(graph, arrays, error=1e-4):
    """What `compare` asks, but measured by the largest number of each output."""
    expected = {k: v.copy() for k, v in compile(graph, "reference").run(feeds(arrays)).items()}
    found = compile(graph, "onednn").run(feeds(arrays))
    for name, value in expected.items():
        limit = error * max(np.abs(value).max(), 1e-6)
        np.testing.assert_allclose(found[name], value, 0, limit, err_msg=name)


def missing(found, contract):
    """The names that a Protocol declares and an object has not."""
    names = {*contract.__annotations__, *vars(contract)}
    return {n for n in names if not n.startswith("_") and not hasattr(found, n)}
