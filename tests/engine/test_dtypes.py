"""Dtypes and edge-case inputs: what stays float32, integers, scalars, empty batches, NaN."""

import numpy as np
import pytest

from sparkdl.engine import Spec, Tensor, gradients, ops
from tests.engine.support import run

X = np.array([[1.0, -2.0, 3.0]], np.float32)
WHOLE = np.array([[1, -2, 3]], np.int32)
NAN = np.array([1.0, np.nan, -1.0], np.float32)

FLOAT32 = {
    "a number": lambda x: ops.mul(x, 0.5),
    "a number first": lambda x: ops.sub(1, x),
    "a float64 scalar": lambda x: ops.mul(x, np.sqrt(2.0)),
    "a float64 scalar first": lambda x: ops.mul(np.sqrt(2.0), x),
    "integers": lambda x: ops.add(x, WHOLE),
    "integers first": lambda x: ops.mul(WHOLE, x),
    "a chosen number": lambda x: ops.where(WHOLE, x, 0.0),
    "a mean": ops.mean,
    "operators": lambda x: 2 * x**2 - 1 / (3 + x) + np.float64(0.5),
    "a power": lambda x: ops.power(x, np.float64(2)),
    "integer targets": lambda x: ops.sigmoid_cross_entropy(x, np.abs(WHOLE) % 2),
}


@pytest.mark.parametrize("name", FLOAT32)
def test_float32_beside_other_types_stays_float32(name):
    function = FLOAT32[name]
    (found,) = run(lambda x: function(x), X)
    assert found.dtype == np.float32
    if name != "operators":  # numpy decides the result type of its own operators
        now = function(X)
        assert now.dtype == np.float32
        np.testing.assert_allclose(found, now, rtol=1e-6)


def test_a_fraction_beside_integers_is_not_cut_off():
    np.testing.assert_array_equal(ops.mul(WHOLE, 0.5), [[0.5, -1.0, 1.5]])
    np.testing.assert_array_equal(ops.mean(WHOLE, 1), [2 / 3])


INTEGERS = {
    "add": (lambda x: ops.add(x, x), [[2, -4, 6]]),
    "square": (ops.square, [[1, 4, 9]]),
    "abs": (ops.abs, [[1, 2, 3]]),
    "relu": (ops.relu, [[1, 0, 3]]),
    "maximum": (lambda x: ops.maximum(x, 2), [[2, 2, 3]]),
    "max": (ops.max, 3),
    "sum": (ops.sum, 2),
    "one_hot": (lambda x: ops.one_hot(x, 2), [[[0, 1], [0, 0], [0, 0]]]),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_give_the_same_at_once_and_compiled(name):
    function, expected = INTEGERS[name]
    (found,), now = run(function, WHOLE), function(WHOLE)
    assert found.dtype == now.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(now, expected)


def test_a_sum_of_bytes_does_not_wrap_round():
    pixels = np.full(300, 255, np.uint8)
    assert ops.sum(pixels) == run(ops.sum, pixels)[0] == 76_500


def test_a_gradient_has_the_type_of_its_tensor():
    x, y = Tensor(Spec((3,), "float32")), Tensor(Spec((3,), "float64"))
    gx, gy = gradients(ops.sum(ops.mul(x, y)), [x, y])
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)


def test_integers_have_no_gradient():
    x, count = Tensor(Spec((3,))), Tensor(Spec((3,), "int32"))
    _, grad = gradients(ops.sum(ops.mul(x, count)), [x, count])
    assert not grad.value.any()


SCALARS = [ops.neg, ops.exp, ops.relu, ops.sigmoid, ops.erf, ops.sum, ops.max, ops.mean, ops.copy]


@pytest.mark.parametrize("function", SCALARS, ids=lambda f: getattr(f, "__name__", repr(f)))
def test_a_single_number_is_an_array_too(function):
    x = np.asarray(0.5, np.float32)
    (found,), now = run(function, x), function(x)
    assert found.shape == now.shape == ()
    np.testing.assert_allclose(found, now, rtol=1e-6)


EMPTY = {
    "relu": (ops.relu, [(0, 3)]),
    "chain": (lambda x: ops.tanh(ops.exp(x)), [(0, 3)]),
    "sum": (lambda x: ops.sum(x, 0), [(0, 3)]),
    "softmax": (ops.softmax, [(0, 3)]),
    "matmul": (ops.matmul, [(0, 3), (3, 2)]),
    "conv": (lambda x, w: ops.conv(x, w, padding=1), [(0, 2, 4, 4), (3, 2, 3, 3)]),
    "max_pool": (lambda x: ops.max_pool(x, 2), [(0, 2, 4, 4)]),
    "avg_pool": (lambda x: ops.avg_pool(x, 2), [(0, 2, 4, 4)]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_batch_of_nothing_gives_nothing_and_zero_gradients(name):
    function, shapes = EMPTY[name]
    arrays = [np.ones(s, np.float32) for s in shapes]

    def both(*inputs):
        y = function(*inputs)
        return (y, *gradients(ops.sum(y), inputs))

    y, *grads = run(both, *arrays)
    assert y.shape == function(*arrays).shape
    for array, grad in zip(arrays, grads, strict=True):
        np.testing.assert_array_equal(grad, np.zeros_like(array))


def test_random_numbers_for_no_examples():
    assert ops.uniform(np.zeros(0, np.uint64), 0, (2, 3), 1, 1).shape == (0, 2, 3)


PASSES_NAN = [ops.relu, ops.sigmoid, ops.tanh, ops.erf, ops.softplus, ops.leaky_relu, ops.elu]


@pytest.mark.parametrize("function", PASSES_NAN, ids=lambda f: getattr(f, "__name__", repr(f)))
def test_nan_is_not_hidden(function):
    np.testing.assert_array_equal(np.isnan(function(NAN)), [False, True, False])
    np.testing.assert_array_equal(np.isnan(run(function, NAN)[0]), [False, True, False])


def test_nan_wins_every_maximum():
    image = np.zeros((1, 1, 2, 4), np.float32)
    image[0, 0, 1, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(ops.max_pool(image, 2)), [[[[True, False]]]])
    assert np.isnan(ops.max(NAN)) and np.isnan(ops.maximum(NAN, 0.0)[1])


def test_an_infinite_gradient_stops_where_the_way_is_closed():
    x = np.array([-1.0, 1.0], np.float32)

    def grads(x):
        y = ops.relu(x) + ops.maximum(x, 0.0) + ops.where(ops.greater(x, 0.0), x, 0.0)
        return gradients(ops.sum(ops.mul(y, np.float32(np.inf))), [x])[0]

    np.testing.assert_array_equal(run(grads, x)[0], [0, np.inf])


def test_padding_never_wins_a_maximum():
    image = np.full((1, 1, 2, 2), -5.0, np.float32)
    np.testing.assert_array_equal(ops.max_pool(image, 2, padding=1), np.full((1, 1, 2, 2), -5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_overflows_at_the_ends(dtype):
    x = np.array([-1e4, 0, 1e4], dtype)
    np.testing.assert_allclose(ops.sigmoid(x), [0, 0.5, 1], atol=1e-37)
    np.testing.assert_allclose(ops.softplus(x), [0, np.log(2), 1e4], rtol=1e-6)
    np.testing.assert_array_equal(ops.softmax(x), [0, 0, 1])
    assert np.isfinite(ops.log_softmax(x)).all()
    assert np.isfinite(ops.sigmoid_cross_entropy(x, np.zeros(3, dtype))).all()
