"""Chains: any elementwise region gives the same numbers in one pass as node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import Graph, compile, ops, scope
from sparkdl.engine.chains import BLOCK, FEW, ChainOp, into_chains
from tests.engine.random_graphs import ELEMENTWISE, follow, functions
from tests.engine.support import ops_of, results, run, run_plain, tensors, trace, uniform

X, Y = uniform(0, 3, 4), uniform(1, 3, 4)
SIZES = [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3]


def adam(grad, mean, square, rate):
    """Computes an optimizer's step of three vectors and a scalar."""
    mean = 0.9 * mean + 0.1 * grad
    square = 0.999 * square + 0.001 * ops.square(grad)
    return -rate * mean / (ops.sqrt(square) + 1e-8), mean, square


def vectors(size, dtype=np.float32):
    draws = [uniform(seed, size).astype(dtype) for seed in range(3)]
    return [draws[0], draws[1], np.abs(draws[2]), np.asarray(0.01, dtype)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_update_is_one_chain_at_any_size(size, dtype):
    arrays = vectors(size, dtype)
    program = compile(trace(adam, *arrays))
    assert ops_of(program).count("Chain") == 1 and len(program.steps) <= 2
    expected = adam(*arrays)
    for found, plain in zip(results(program, arrays), expected, strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, plain, rtol=1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("size", SIZES)
def test_a_chain_updates_its_inputs_in_place(size):
    grad, mean, square, rate = vectors(size)
    step, new_mean, new_square = adam(grad, mean, square, rate)
    inputs = tensors(grad=grad, mean=mean, square=square, rate=rate)
    names = ("step", "new_mean", "new_square")
    graph = Graph(inputs, dict(zip(names, adam(*inputs.values()), strict=True)))
    bindings = {"grad": grad, "mean": mean, "square": square}
    program = compile(
        graph, bindings=bindings | {"step": grad, "new_mean": mean, "new_square": square}
    )
    assert program.plan.copies == []
    program.run({"rate": rate})
    for found, expected in ((grad, step), (mean, new_mean), (square, new_square)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(moves=functions(ELEMENTWISE, longest=15), outputs=st.sets(st.integers(0, 17), min_size=1))
def test_random_elementwise_graphs_are_the_same_chained_and_plain(moves, outputs):
    arrays = [uniform(seed, 2, 3) for seed in range(3)]

    def function(*inputs):
        values = follow(moves, inputs)
        return [values[-1 - i % len(values)] for i in sorted(outputs)]

    found, plain = run(function, *arrays), run_plain(function, *arrays)
    for a, b, c in zip(found, plain, function(*arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(a, c, rtol=1e-14, atol=1e-15)


def same(function, *arrays, rtol=1e-13):
    """Compares the compiled function with the plain one; returns its operations."""
    program = compile(trace(function, *arrays))
    for found, plain in zip(results(program, arrays), run_plain(function, *arrays), strict=True):
        assert found.dtype == plain.dtype
        np.testing.assert_allclose(found, plain, rtol=rtol)
    return ops_of(program)


def test_a_way_out_and_back_splits_a_chain():
    def diamond(x):
        y = ops.exp(ops.tanh(x))
        rows = ops.softmax(y)  # not elementwise, and read together with its own input
        return ops.mul(ops.add(y, rows), 0.5)

    assert same(diamond, X) == ["Chain", "Softmax", "Chain"]


def test_a_way_out_through_a_scalar_splits_a_chain():
    def normed(x):
        y = ops.square(ops.tanh(x))
        return ops.sub(ops.div(y, ops.sum(y)), 1.0)

    assert same(normed, X) == ["Chain", "Sum", "Chain"]


def test_a_way_out_through_another_shape_splits_a_chain():
    def turned(x):
        y = ops.exp(ops.tanh(x))
        z = ops.reshape(ops.sqrt(ops.neg(ops.neg(ops.reshape(y, (12,))))), (3, 4))
        return ops.add(ops.mul(y, z), z)

    assert same(turned, X).count("Chain") == 3


def test_two_ways_out_of_different_length():
    def braid(x):
        a = ops.tanh(x)
        b = ops.softmax(a)
        c = ops.mul(b, a)
        d = ops.softmax(c)
        return ops.add(ops.add(ops.exp(a), d), ops.mul(c, b)), ops.sub(a, d)

    same(braid, X)


def test_what_one_chain_alone_reads_lies_in_it_however_late():
    def function(x, y):
        return ops.add(ops.mul(x, 0.9), ops.mul(y, ops.sum(y)))

    assert same(function, X, Y) == ["Sum", "Chain"]


def test_it_does_not_where_more_would_be_kept_for_it():
    def function(x, y):
        both = ops.mul(ops.softmax(x), ops.softmax(y))
        return ops.mul(both, ops.sum(ops.softmax(ops.softmax(x))))

    assert same(function, X, Y).count("Mul") == 2


@pytest.mark.parametrize("rows, chains", [(2, 1), (FEW, 2)])
def test_small_arrays_of_a_layer_share_a_chain(rows, chains):
    def function(x, y):
        return ops.exp(ops.tanh(x)), ops.sqrt(ops.square(y))

    arrays = uniform(0, rows, 3), uniform(1, rows, 3)
    assert same(function, *arrays) == ["Chain"] * chains


def test_broadcasting_stays_outside_of_chains():
    def function(x):
        return ops.exp(ops.mul(ops.add(x, X[0]), 2.0))

    assert same(function, X) == ["Add", "Chain"]


def test_scalars_are_worked_out_first_and_take_part():
    def function(x, t):
        rate = ops.div(0.1, ops.sqrt(t + 1.0))
        return ops.sub(x, ops.mul(x, rate))

    assert "Chain" in same(function, X, np.asarray(3.0))


def test_types_may_differ_within_a_chain():
    single, whole = X.astype(np.float32), np.arange(12, dtype=np.int32).reshape(3, 4)

    def function(x, n, y):
        wide = ops.add(ops.mul(x, n), y)
        return ops.where(ops.greater(n, 5), ops.tanh(x), ops.relu(x)), wide, ops.add(n, n)

    found = run(function, single, whole, Y)
    assert [a.dtype for a in found] == [np.float32, np.float64, np.int32]
    same(function, single, whole, Y, rtol=1e-6)


def test_a_value_that_is_used_inside_and_outside():
    def function(x):
        y = ops.tanh(x)
        z = ops.exp(y)
        return y, z, ops.matmul(z, y, transpose_y=True), ops.mul(z, y)

    assert same(function, X).count("Chain") == 1


def test_a_single_operation_is_no_chain():
    assert same(lambda x: ops.exp(x), X) == ["Exp"]
    graph = trace(lambda x: ops.exp(x), X)
    assert into_chains(graph) is graph


def test_chains_of_a_long_braid_are_found_quickly():
    def braid(x):
        for _ in range(60):  # each step reads its value twice: 2^60 paths
            x = ops.mul(ops.tanh(x), ops.sigmoid(x))
        return x

    assert same(braid, X) == ["Chain"]


def test_chains_are_not_chained_again():
    graph = into_chains(trace(adam, *vectors(5)))
    again = into_chains(graph)
    assert [n.op.kind for n in again.nodes] == [n.op.kind for n in graph.nodes]
    assert all(len(node.op.steps) > 1 for node in again.nodes if isinstance(node.op, ChainOp))


def test_nodes_keep_their_scope():
    with scope("layer"):
        graph = trace(lambda x: ops.softmax(ops.exp(ops.tanh(x))), X)
    assert [node.scope for node in into_chains(graph).nodes] == ["layer", "layer"]
