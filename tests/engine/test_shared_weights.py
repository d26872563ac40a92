"""Weights shared by several products: their gradient is one product with the same values."""

from collections import Counter

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import numpy as jnp

from sparkdl.engine import compile, gradients, ops
from sparkdl.engine.gradient_check import check_gradients
from sparkdl.engine.shared_weights import add_products
from tests.engine.support import run, trace, uniform
from tests.support.gradients import value_and_grad

ROWS, STEPS = 2, 4
W, X = uniform(0, 5, 5), uniform(1, STEPS * ROWS, 5)
PRODUCTS = {  # of x (ROWS, 5) and w (5, 5)
    "x w": lambda m, x, w: m.matmul(x, w),
    "x w'": lambda m, x, w: m.matmul(x, w.T) if m is jnp else m.matmul(x, w, transpose_y=True),
    "w x'": lambda m, x, w: m.matmul(w, x.T) if m is jnp else m.matmul(w, x, transpose_y=True),
    "w' x'": lambda m, x, w: m.matmul(w.T, x.T) if m is jnp else m.matmul(w, x, True, True),
}
TABLE = pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)


def walk(m, product, x, w):
    """Sums each step's own product with w."""
    total = 0.0
    for t in range(STEPS):
        rows = (t * ROWS, (t + 1) * ROWS)
        part = x[slice(*rows)] if m is jnp else ops.slice(x, (rows[0], 0), (rows[1], 5))
        total = total + m.sum(m.tanh(product(m, part, w)))
    return total


def grad_of_weights(function, *arrays):
    """Returns the graph of the last argument's gradient."""
    return trace(lambda *inputs: gradients(function(*inputs), inputs[-1:])[0], *arrays)


def counts(graph):
    return Counter(node.op.kind for node in graph.nodes)


@pytest.mark.slow
@TABLE
def test_gradients_match_jax(product, x64):
    _, grads = value_and_grad(lambda x, w: walk(ops, product, x, w))(X, W)
    like = jax.grad(lambda x, w: walk(jnp, product, x, w), argnums=(0, 1))(X, W)
    for grad, other in zip(grads, like, strict=True):
        np.testing.assert_allclose(grad, other, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@TABLE
def test_second_derivatives_match_differences(product):
    def number(x, w):
        return walk(ops, product, x, w) if not isinstance(w, np.ndarray) else W[0, 0]

    check_gradients(number, X, W, order=2)


@TABLE
def test_the_gradient_of_shared_weights_is_one_product(product):
    found = counts(grad_of_weights(lambda x, w: walk(ops, product, x, w), X, W))
    assert found["MatMul"] == STEPS + 1
    assert found["Concat"] == 2 and not found["Add"]


def test_products_of_large_matrices_are_added_up():
    """Concatenating them would cost more than adding their products."""
    x = uniform(2, 2 * STEPS * ROWS, 5)

    def twice(x, w):
        halves = [ops.slice(x, (i, 0), (i + 8, 5)) for i in (0, 8)]
        return ops.sum(ops.tanh(ops.matmul(halves[0], w)) + ops.tanh(ops.matmul(halves[1], w)))

    found = counts(grad_of_weights(twice, x, W))
    assert (found["MatMul"], found["Concat"]) == (4, 0)


def mixed(m, x, w):
    """Uses w in two forms of product, and by itself."""
    x = x[:ROWS] if m is jnp else ops.slice(x, (0, 0), (ROWS, 5))
    other = PRODUCTS["w x'"](m, x, w)
    return m.sum(m.tanh(m.matmul(x, w))) + m.sum(m.tanh(other)) + m.sum(w * w)


def tied(m, x, w):
    """Multiplies by w, then by its transpose, as in a tied autoencoder."""
    x = x[:ROWS] if m is jnp else ops.slice(x, (0, 0), (ROWS, 5))
    return m.sum(m.tanh(PRODUCTS["x w'"](m, m.tanh(m.matmul(x, w)), w)))


@pytest.mark.slow
@pytest.mark.parametrize("function, joined", [(mixed, 0), (tied, 2)], ids=["mixed", "tied"])
def test_products_of_one_form_alone_are_put_together(function, joined, x64):
    graph = grad_of_weights(lambda x, w: function(ops, x, w), X, W)
    assert counts(graph)["Concat"] == joined
    [found] = compile(graph).run({"x0": X, "x1": W}).values()
    expected = jax.grad(lambda w: function(jnp, X, w))(W)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("backend", ["reference", "auto"])
@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_sums_are_those_of_the_products(kind, backend):
    xs = [uniform(i, ROWS, 5).astype(kind) for i in range(2 * STEPS)]
    pairs = list(zip(xs[::2], xs[1::2], strict=True))

    def joined(*xs):
        pairs = zip(xs[::2], xs[1::2], strict=True)
        return add_products([ops.matmul(x, y, transpose_x=True) for x, y in pairs])

    graph = trace(joined, *xs)
    assert counts(graph)["MatMul"] == 1
    feeds = {f"x{i}": x for i, x in enumerate(xs)}
    [found] = compile(graph, backend).run(feeds).values()
    expected = sum(x.astype(np.float64).T @ y.astype(np.float64) for x, y in pairs)
    assert found.dtype == kind
    error = 4 * float(ml_dtypes.finfo(kind).eps)
    np.testing.assert_allclose(found.astype(np.float64), expected, error, 4 * error)


def test_other_tensors_are_added_in_their_order():
    x = uniform(3, 5, 5).astype(np.float32)
    [found] = run(lambda x: add_products([x, x * 3, x, x * 0.1]), x)
    three, tenth = x * np.float32(3), x * np.float32(0.1)
    np.testing.assert_array_equal(found, ((x + three) + x) + tenth)
