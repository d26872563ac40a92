"""Gradients as graphs: second derivatives, shared values, and which inputs they reach."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from sparkdl.engine import Graph, Spec, Tensor, compile, constant, gradients, ops, scope
from sparkdl.engine.autodiff import pullback
from sparkdl.engine.gradient_check import check_gradients
from sparkdl.engine.ops.base import OPS, Op
from sparkdl.errors import ShapeError
from tests.engine.support import run, tensors, uniform
from tests.support.gradients import value_and_grad as compiled_value_and_grad

X, W = uniform(0, 4, 3), uniform(1, 3, 2)


def network(m, x, w):
    """Two layers with shared weights, a value multiplied by itself, an exponential."""
    h = m.tanh(x @ w)
    z = h @ w.T if m is jnp else ops.matmul(h, w, transpose_y=True)
    return m.sum(m.exp(z) * z * z) if m is jnp else ops.sum(ops.exp(z) * z * z)


@pytest.mark.slow
def test_value_and_gradient_match_jax(x64):
    value, grads = compiled_value_and_grad(lambda x, w: network(ops, x, w))(X, W)
    expected, like = jax.value_and_grad(lambda x, w: network(jnp, x, w), argnums=(0, 1))(X, W)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for grad, other in zip(grads, like, strict=True):
        np.testing.assert_allclose(grad, other, rtol=1e-11)


def test_a_hessian_times_a_vector_matches_jax(x64):
    direction = uniform(2, *W.shape)

    def product(x, w):
        (grad,) = gradients(network(ops, x, w), [w])
        return gradients(ops.sum(grad * constant(direction)), [w])[0]

    def slope(w):
        return jnp.vdot(jax.grad(lambda v: network(jnp, X, v))(w), direction)

    np.testing.assert_allclose(run(product, X, W)[0], jax.grad(slope)(W), rtol=1e-10)


def test_a_third_derivative():
    def third(x):
        y = ops.sum(x**4)
        for _ in range(3):
            (y,) = gradients(ops.sum(y), [x])
        return y

    np.testing.assert_allclose(run(third, X)[0], 24 * X, rtol=1e-12)


def test_a_value_used_twice_adds_up_its_gradients():
    def grad(x):
        y = ops.exp(x)
        return gradients(ops.sum(y * y + y + x), [x])[0]

    np.testing.assert_allclose(run(grad, X)[0], 2 * np.exp(2 * X) + np.exp(X) + 1)


def test_gradients_of_values_on_the_way():
    x = Tensor(Spec(X.shape, "float64"), name="x")
    y = ops.exp(x)
    gy, gx = gradients(ops.sum(y * y), [y, x])
    found = compile(Graph({"x": x}, {"gy": gy, "gx": gx})).run({"x": X})
    np.testing.assert_allclose(found["gy"], 2 * np.exp(X))
    np.testing.assert_allclose(found["gx"], 2 * np.exp(2 * X))


def test_what_the_loss_does_not_depend_on_has_gradient_zero():
    x, free, stopped = (Tensor(Spec((2, 3))) for _ in range(3))
    grads = gradients(ops.sum(ops.mul(x, ops.stop_gradient(stopped))), [free, stopped])
    for grad in grads:
        np.testing.assert_array_equal(grad.value, np.zeros((2, 3), np.float32))


def test_a_loss_is_its_own_gradient_one():
    x = Tensor(Spec(()))
    assert gradients(x, [x])[0].value == 1


def test_a_seed_is_the_gradient_of_what_follows():
    def grad(x):
        return gradients(x * x, [x], seed=constant(X))[0]

    np.testing.assert_allclose(run(grad, X)[0], 2 * X * X)


def test_a_loss_of_several_numbers_is_refused():
    x = Tensor(Spec((2, 3)))
    with pytest.raises(
        ShapeError, match=r"gradients are of one number, got a loss of shape \(2, 3\)"
    ):
        gradients(x, [x])


def test_pullback_does_not_go_beyond_its_inputs():
    x = Tensor(Spec((3,), "float64"), name="x")
    y = ops.exp(x)
    gx, gy = pullback(lambda a, b: a * b, (x, y), constant(np.ones(3)))
    found = compile(Graph({"x": x}, {"gx": gx, "gy": gy})).run({"x": X[0, :3]})
    np.testing.assert_allclose(found["gx"], np.exp(X[0, :3]))  # not + x e^x, by way of y
    np.testing.assert_allclose(found["gy"], X[0, :3])


class Product(Op):
    """A user's operation with a decomposition but no gradient."""

    def shape(self, x, y):
        return self.same(x, y)

    def decompose(self, x, y):
        return ops.mul(x, ops.exp(y))


def test_an_operation_may_leave_its_gradient_to_its_decomposition():
    assert "Product" not in OPS
    check_gradients(Product(), X, X + 1, order=2)


def test_one_tensor_at_two_places_of_an_operation_counts_once_at_each():
    check_gradients(lambda x: Product()(x, x), X, order=2)


def test_check_gradients_finds_a_wrong_gradient():
    class Wrong(Product):
        def gradient(self, gz, x, y, z):
            gx, gy = pullback(self.decompose, (x, y), gz)
            return gx, gy * 1.001

    with pytest.raises(AssertionError, match="argument 1"):
        check_gradients(Wrong(), X, X + 1)


def test_check_gradients_finds_a_wrong_second_derivative():
    class Frozen(Op):
        def shape(self, x):
            return x

        def reference(self, x):
            return np.exp(x)

        def gradient(self, gy, x, y):
            return (gy * ops.stop_gradient(y),)

    check_gradients(Frozen(), X)
    with pytest.raises(AssertionError, match="argument 0"):
        check_gradients(Frozen(), X, order=2)


def test_a_function_is_traced_once_for_each_kind_of_arguments():
    calls = []

    def function(x):
        calls.append(x.spec)
        return ops.sum(x * x)

    traced = compiled_value_and_grad(function)
    for array in (X, X + 1, X[:2], X.astype(np.float32), X):
        value, (grad,) = traced(array)
        np.testing.assert_allclose(value, np.sum(array * array), rtol=1e-6)
        np.testing.assert_allclose(grad, 2 * array, rtol=1e-6)
    kinds = [((4, 3), "float64"), ((2, 3), "float64"), ((4, 3), "float32")]
    assert [(c.shape, c.dtype) for c in calls] == kinds


def test_results_are_the_callers_to_keep():
    traced = compiled_value_and_grad(lambda x: ops.sum(x * x))
    _, (first,) = traced(X)
    before = first.copy()
    traced(X + 1)
    np.testing.assert_array_equal(first, before)


def test_plain_numbers_and_functions_that_ignore_an_argument():
    value, (grad, none) = compiled_value_and_grad(lambda x, y: x * x)(3.0, 4.0)
    assert (value, grad, none) == (9, 6, 0)


def test_scopes_name_the_nodes_and_their_gradients():
    inputs = tensors(x=X, w=W)
    with scope("dense_1"):
        y = ops.tanh(inputs["x"] @ inputs["w"])
    (grad,) = gradients(ops.sum(y), [inputs["w"]])
    program = compile(Graph(inputs, {"grad": grad}))
    scopes = {node.scope for node in program.graph.nodes}
    assert {"dense_1", "dense_1:grad"} <= scopes
    assert "dense_1:grad" in program.describe()


@pytest.mark.slow
def test_a_graph_as_deep_as_a_thousand_layers():
    def deep(x):
        for _ in range(1000):
            x = ops.tanh(x + 0.1)
        return ops.sum(x)

    value, (grad,) = compiled_value_and_grad(deep)(X)
    assert np.isfinite(value) and grad.shape == X.shape
