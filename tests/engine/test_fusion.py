"""Fusion: the same numbers in fewer calls, only where intermediate results are not read."""

import numpy as np
import pytest

from sparkdl.engine import Graph, Program, compile, gradients, ops, scope
from sparkdl.engine.fusion import BiasActivationOp, fuse
from tests.engine.networks import lenet
from tests.engine.support import Plain, ops_of, results, run, run_plain, trace, uniform

X, W, B = uniform(0, 4, 3), uniform(1, 3, 5), uniform(2, 5)
IMAGES, FILTERS, PER_FILTER = uniform(3, 2, 3, 6, 6), uniform(4, 4, 3, 3, 3), uniform(5, 4)


def dense(x, w, b):
    return ops.add_bias(ops.matmul(x, w), b)


def conv(x, w, b):
    return ops.add_bias(ops.conv(x, w, padding=1), b, axis=1)


ROWS, PICTURES = (X, W, B), (IMAGES, FILTERS, PER_FILTER)
FUSED = {
    "dense": (dense, ROWS, "MatMul+AddBias"),
    "dense relu": (lambda *a: ops.relu(dense(*a)), ROWS, "MatMul+AddBias+Relu"),
    "dense tanh": (lambda *a: ops.tanh(dense(*a)), ROWS, "MatMul+AddBias+Tanh"),
    "dense sigmoid": (lambda *a: ops.sigmoid(dense(*a)), ROWS, "MatMul+AddBias+Sigmoid"),
    "dense elu": (lambda *a: ops.elu(dense(*a), 0.7), ROWS, "MatMul+AddBias+Elu"),
    "dense leaky": (lambda *a: ops.leaky_relu(dense(*a)), ROWS, "MatMul+AddBias+LeakyRelu"),
    "dense gelu": (lambda *a: ops.gelu(dense(*a)), ROWS, "MatMul+AddBias+Gelu"),
    "transposed": (
        lambda x, w, b: ops.add_bias(ops.matmul(x, w, transpose_y=True), b),
        (X, W.T.copy(), B),
        "MatMul+AddBias",
    ),
    "conv": (conv, PICTURES, "Conv+AddBias"),
    "conv relu": (lambda *a: ops.relu(conv(*a)), PICTURES, "Conv+AddBias+Relu"),
    "conv sigmoid": (lambda *a: ops.sigmoid(conv(*a)), PICTURES, "Conv+AddBias+Sigmoid"),
}


@pytest.mark.parametrize("name", FUSED)
def test_what_fuses_becomes_one_call_with_the_same_result(name):
    function, arrays, label = FUSED[name]
    program = compile(trace(function, *arrays))
    assert [step.op for step in program.steps] == [label]
    (found,), (plain,) = results(program, arrays), run_plain(function, *arrays)
    np.testing.assert_allclose(found, plain, rtol=1e-13)
    np.testing.assert_allclose(found, function(*arrays), rtol=1e-13)


def reads_the_product(x, w, b):
    product = ops.matmul(x, w)
    return ops.relu(ops.add_bias(product, b)), ops.exp(product)


def reads_the_sum(x, w, b):
    total = dense(x, w, b)
    return ops.relu(total), ops.transpose(total, (1, 0))


def asks_for_the_product(x, w, b):
    product = ops.matmul(x, w)
    return ops.add_bias(product, b), product


def asks_for_the_sum(x, w, b):
    total = dense(x, w, b)
    return ops.tanh(total), total


SEPARATE = {
    "product read twice": (reads_the_product, "MatMul"),
    "sum read twice": (reads_the_sum, "Relu"),
    "product is an output": (asks_for_the_product, "AddBias"),
    "sum is an output": (asks_for_the_sum, "Tanh"),
    "another activation": (lambda *a: ops.softplus(dense(*a)), "Softplus"),
    "a second activation": (lambda *a: ops.relu(ops.tanh(dense(*a))), "Relu"),
    "no bias": (lambda x, w, b: ops.relu(ops.matmul(x, w)), "Relu"),
    "bias of something else": (lambda x, w, b: ops.add_bias(ops.softmax(w), b), "AddBias"),
    "product as the bias": (
        lambda x, w, b: ops.add_bias(x, ops.reshape(ops.matmul(w, ops.reshape(b, (5, 1))), (3,))),
        "AddBias",
    ),
}


@pytest.mark.parametrize("name", SEPARATE)
def test_what_must_stay_apart_does(name):
    function, kept = SEPARATE[name]
    assert kept in ops_of(compile(trace(function, *ROWS)))
    for found, plain in zip(run(function, *ROWS), run_plain(function, *ROWS), strict=True):
        np.testing.assert_allclose(found, plain, rtol=1e-13)


READ_BY_THEIR_GRADIENTS = [ops.relu, ops.tanh, ops.sigmoid, ops.elu, ops.leaky_relu]


@pytest.mark.parametrize("function", READ_BY_THEIR_GRADIENTS)
def test_an_activation_is_read_by_its_gradient_and_fuses_still(function):
    def step(x, w, b):
        loss = ops.sum(ops.square(function(dense(x, w, b))))
        return (loss, *gradients(loss, [x, w, b]))

    program = compile(trace(step, *ROWS))
    assert [s.op.count("+") for s in program.steps if s.op.startswith("MatMul+AddBias")] == [2]
    for found, plain in zip(results(program, ROWS), run_plain(step, *ROWS), strict=True):
        np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_a_training_step_is_the_same_fused_and_plain():
    inputs, outputs = lenet(2)
    rng = np.random.default_rng(1)
    feeds = {n: rng.normal(0, 0.1, t.shape).astype(np.float32) for n, t in inputs.items()}
    feeds["labels"] = np.array([3, 9], np.int32)
    fused, plain = compile(Graph(inputs, outputs)), Program(Graph(inputs, outputs), Plain())
    assert len(fused.steps) < len(plain.steps)
    expected = plain.run(feeds)
    for name, value in fused.run(feeds).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-6)


def test_fusion_keeps_the_scope_and_leaves_the_graph_it_was_given():
    with scope("dense_1"):
        graph = trace(lambda *a: ops.relu(dense(*a)), *ROWS)
    before = [node.op.kind for node in graph.nodes]
    (node,) = fuse(graph).nodes
    assert isinstance(node.op, BiasActivationOp) and node.scope == "dense_1"
    assert [node.op.kind for node in graph.nodes] == before


def test_a_graph_in_which_nothing_fits_is_kept():
    graph = trace(lambda x, w, b: ops.relu(ops.matmul(x, w)), *ROWS)
    assert fuse(graph) is graph
