"""Constant folding: normalizations folded into products, computed once and on demand."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Spec, Tensor, compile, ops
from sparkdl.engine.constant_folding import constant_tensors, fold_norms
from sparkdl.engine.ops.normalization import NormalizeOp

BACKENDS = ("reference", "onednn")
N, C, OUT = 4, 6, 5


def tensor(name, *shape, dtype="float32"):
    return Tensor(Spec(shape, dtype), name=name)


def values(rng, inputs):
    """Returns an array for each input; variances are above 0."""
    found = {n: rng.normal(size=t.shape).astype(np.float32) for n, t in inputs.items()}
    return {n: np.abs(v) + 0.5 if n == "variance" else v for n, v in found.items()}


def statistics(count=OUT):
    return {n: tensor(n, count) for n in ("gamma", "beta", "mean", "variance")}


def normalized(y, stats):
    return ops.normalize(y, *stats.values(), 1e-3)


def conv(bias=False, groups=1, **options):
    filters = OUT if groups == 1 else 2 * groups
    inputs = {"x": tensor("x", N, C, 7, 7), "w": tensor("w", filters, C // groups, 3, 3)}
    y = ops.conv(inputs["x"], inputs["w"], groups=groups, **options)
    inputs |= {"b": tensor("b", y.shape[1])} if bias else {}
    return inputs, ops.add_bias(y, inputs["b"], 1) if bias else y


def dense(bias=False, transpose=False):
    inputs = {"x": tensor("x", N, C), "w": tensor("w", *((OUT, C) if transpose else (C, OUT)))}
    inputs |= {"b": tensor("b", OUT)} if bias else {}
    y = ops.matmul(inputs["x"], inputs["w"], transpose_y=transpose)
    return inputs, ops.add_bias(y, inputs["b"]) if bias else y


def steps_of_sequences():
    """Returns rows of sequences that are split into steps and rejoined, as in a layer."""
    inputs = {"x": tensor("x", N, 3, C), "w": tensor("w", C, OUT), "b": tensor("b", OUT)}
    y = ops.add_bias(ops.matmul(ops.reshape(inputs["x"], (-1, C)), inputs["w"]), inputs["b"])
    return inputs, ops.reshape(ops.reshape(y, (N, 3, OUT)), (-1, OUT))


FOLDED = {
    "convolution": conv,
    "convolution and bias": lambda: conv(bias=True),
    "groups": lambda: conv(bias=True, groups=2),
    "padding and stride": lambda: conv(stride=2, padding=1),
    "product": dense,
    "product and bias": lambda: dense(bias=True),
    "product, transposed": lambda: dense(bias=True, transpose=True),
    "sequences": steps_of_sequences,
}


def norms(graph):
    return sum(isinstance(node.op, NormalizeOp) for node in graph.nodes)


def with_norm(make, after=lambda y: y):
    inputs, y = make()
    stats = statistics(y.shape[1])
    return Graph(inputs | stats, {"y": after(normalized(y, stats))})


def bound(graph, arrays):
    return {name: arrays[name] for name in graph.inputs if name != "x"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FOLDED)
def test_a_norm_becomes_part_of_the_product_before_it(name, backend, rng):
    graph = with_norm(FOLDED[name], ops.relu)
    arrays = values(rng, graph.inputs)
    bindings = bound(graph, arrays)
    plain = compile(graph, "reference", bindings).run({"x": arrays["x"]})["y"]
    program = compile(graph, backend, bindings, constant_bindings=True)
    assert not norms(fold_norms(graph, constant_tensors(graph, bindings)))
    assert not any("Normalize" in step.op for step in program.steps)
    np.testing.assert_allclose(program.run({"x": arrays["x"]})["y"], plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_steady_is_worked_out_again_on_demand(backend, rng):
    graph = with_norm(lambda: conv(bias=True))
    arrays = values(rng, graph.inputs)
    bindings = bound(graph, arrays)
    program = compile(graph, backend, bindings, constant_bindings=True)
    before = program.run({"x": arrays["x"]})["y"].copy()
    for name in bindings:
        bindings[name][...] = 2 * bindings[name]
        program.refresh()
        fresh = compile(graph, backend, bindings).run({"x": arrays["x"]})["y"]
        found = program.run({"x": arrays["x"]})["y"]
        np.testing.assert_allclose(found, fresh, rtol=1e-4, atol=1e-4)
        assert not np.allclose(found, before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_runs_leave_what_is_steady_as_it_is(backend, rng):
    graph = with_norm(lambda: conv(bias=True), lambda y: ops.exp(ops.mul(ops.tanh(y), y)))
    arrays = values(rng, graph.inputs)
    program = compile(graph, backend, bound(graph, arrays), constant_bindings=True)
    first = program.run({"x": arrays["x"]})["y"].copy()
    for _ in range(3):
        program.run({"x": rng.normal(size=arrays["x"].shape)})
    np.testing.assert_array_equal(program.run({"x": arrays["x"]})["y"], first)


def test_a_version_that_is_known_is_not_worked_out_again(rng):
    graph = with_norm(dense)
    arrays = values(rng, graph.inputs)
    bindings = bound(graph, arrays)
    program = compile(graph, "reference", bindings, constant_bindings=True)
    program.refresh(1)
    first = program.run({"x": arrays["x"]})["y"].copy()
    bindings["w"] *= 2
    program.refresh(1)
    np.testing.assert_array_equal(program.run({"x": arrays["x"]})["y"], first)
    program.refresh(2)
    assert not np.allclose(program.run({"x": arrays["x"]})["y"], first)


def read_twice():
    inputs, y = conv()
    stats = statistics()
    return Graph(inputs | stats, {"y": normalized(y, stats), "between": y})


def normalized_first():
    inputs, stats = {"x": tensor("x", N, C, 7, 7), "w": tensor("w", OUT, C, 3, 3)}, statistics(C)
    return Graph(inputs | stats, {"y": ops.conv(normalized(inputs["x"], stats), inputs["w"])})


def activated_between():
    inputs, y = conv()
    stats = statistics()
    return Graph(inputs | stats, {"y": normalized(ops.relu(y), stats)})


def flattened_between():
    """Normalizes flattened rows, whose features are not the channels."""
    inputs, y = conv()
    rows = ops.reshape(y, (N, -1))
    stats = statistics(rows.shape[1])
    return Graph(inputs | stats, {"y": normalized(rows, stats)})


APART = {
    "read elsewhere": read_twice,
    "before the product": normalized_first,
    "activation between": activated_between,
    "flattened between": flattened_between,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", APART)
def test_other_norms_stay(name, backend, rng):
    graph = APART[name]()
    arrays = values(rng, graph.inputs)
    bindings = bound(graph, arrays)
    assert norms(fold_norms(graph, constant_tensors(graph, bindings))) == 1
    plain = compile(graph, "reference", bindings).run({"x": arrays["x"]})
    found = compile(graph, backend, bindings, constant_bindings=True).run({"x": arrays["x"]})
    for key, value in found.items():
        np.testing.assert_allclose(value, plain[key], rtol=1e-4, atol=1e-4)


def test_statistics_that_are_fed_stay(rng):
    graph = with_norm(conv)
    bindings = {"w": np.ones(graph.inputs["w"].shape, np.float32)}
    assert norms(fold_norms(graph, constant_tensors(graph, bindings))) == 1


def test_weights_that_are_fed_stay(rng):
    graph = with_norm(dense)
    arrays = values(rng, graph.inputs)
    bindings = {name: array for name, array in bound(graph, arrays).items() if name != "w"}
    assert norms(fold_norms(graph, constant_tensors(graph, bindings))) == 1
