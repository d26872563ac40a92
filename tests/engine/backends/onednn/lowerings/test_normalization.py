"""oneDNN's normalizations against the reference, over random shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.lowerings import normalization
from sparkdl.engine.native import batch_norms
from tests.engine.support import compare, feeds, trace, with_gradients
from tests.support.processor import AVX512

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_layer_norm_of_drawn_shapes(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=2, max_size=4)))
    axis = data.draw(st.integers(1, len(shape) - 1))
    shape = (*shape[:axis], data.draw(st.integers(2, 40)), *shape[axis + 1 :])
    x, gamma, beta = numbers(*shape), numbers(shape[axis], seed=1), numbers(shape[axis], seed=2)
    graph = with_gradients(lambda *a: ops.layer_norm(*a, axis, 1e-2), x, gamma, beta)
    compare(graph, [x, gamma, beta], 1e-3, 1e-3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_lrn_of_drawn_shapes(data):
    draw = data.draw
    shape = tuple(draw(st.integers(1, most)) for most in (3, 40, 9, 9))
    options = {
        "size": draw(st.sampled_from([1, 3, 5, 7])),
        "alpha": draw(st.sampled_from([1e-4, 1.0])),
        "beta": draw(st.sampled_from([0.75, 0.75, 0.5])),
        "k": draw(st.sampled_from([1.0, 2.0])),
        "within": draw(st.booleans()),
    }
    x = numbers(*shape)
    compare(with_gradients(lambda x: ops.lrn(x, **options), x), [x], 1e-3, 1e-4)


def kernels(function, *arrays):
    steps = compile(with_gradients(function, *arrays), "onednn").steps
    return [s.kernel for s in steps if "Norm" in s.op or "Lrn" in s.op]


@pytest.mark.parametrize("within", [False, True], ids=["across", "within"])
def test_lrn_and_its_gradient_have_a_kernel_of_their_own(within):
    """Without AVX-512 the gradient is decomposed."""
    found = kernels(lambda x: ops.lrn(x, within=within), numbers(2, 32, 12, 12))
    assert len(found) == 1 + AVX512 and all("jit" in name for name in found)


def test_a_second_lrn_of_the_same_numbers_keeps_its_own():
    def function(x):
        return ops.add(ops.lrn(x, 3), ops.lrn(x, 5, alpha=0.5))

    x = numbers(2, 32, 6, 6)
    assert len(kernels(function, x)) == (4 if AVX512 else 2)
    compare(with_gradients(function, x), [x], 1e-3, 1e-4)


def test_layer_norm_and_its_gradient_have_a_kernel_of_their_own():
    for shape, axis in (((4, 32), 1), ((2, 3, 32), 2), ((2, 32, 3, 3), 1)):
        found = kernels(
            lambda *a, axis=axis: ops.layer_norm(*a, axis),
            numbers(*shape),
            numbers(32),
            numbers(32),
        )
        assert len(found) == 2 and not any("numpy" in name for name in found), shape


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_batch_norm_of_drawn_shapes(data):
    space = data.draw(st.lists(st.integers(1, 6), min_size=0, max_size=3))
    shape = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 40)), *space
    x, gamma, beta = numbers(*shape), numbers(shape[1], seed=1), numbers(shape[1], seed=2)
    graph = with_gradients(lambda *a: ops.batch_norm(*a, 1e-1)[0], x, gamma, beta)
    compare(graph, [x, gamma, beta], 1e-3, 1e-3)


def test_batch_norm_and_its_gradient_have_a_kernel_of_their_own():
    for space in ((), (3, 4), (2, 3, 4)):
        found = kernels(
            lambda *a: ops.batch_norm(*a)[0], numbers(4, 32, *space), numbers(32), numbers(32)
        )
        assert len(found) == 2 and not any("numpy" in name for name in found), space


def rectified(x, gamma, beta):
    return ops.relu(ops.batch_norm(x, gamma, beta, 1e-1)[0])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_batch_norm_and_relu_of_drawn_shapes(data):
    space = data.draw(st.lists(st.integers(1, 6), min_size=0, max_size=3))
    shape = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 40)), *space
    arrays = [numbers(*shape), numbers(shape[1], seed=1), numbers(shape[1], seed=2)]
    compare(with_gradients(rectified, *arrays), arrays, 1e-3, 1e-3)


def test_batch_norm_and_relu_are_one_kernel_each_way():
    arrays = [numbers(4, 32, 5, 3), numbers(32, seed=1), numbers(32, seed=2)]
    steps = compile(with_gradients(rectified, *arrays), "onednn").steps
    assert not [s.op for s in steps if s.op in ("Relu", "ReluGrad", "BatchNorm", "BatchNormGrad")]
    found = [s.kernel for s in steps if "Norm" in s.op]
    assert len(found) == 2 and not any("numpy" in name for name in found)


def test_without_a_kernel_for_both_numpy_does_the_relu(monkeypatch):
    monkeypatch.setattr(normalization, "fast", lambda *arguments: None)
    arrays = [numbers(4, 32, 5, 3), numbers(32, seed=1), numbers(32, seed=2)]
    compare(with_gradients(rectified, *arrays), arrays, 1e-3, 1e-3)


@pytest.mark.parametrize("more", ["y", "grad", "twice"])
def test_what_else_reads_the_values_between_still_can(more):
    def function(x, gamma, beta):
        y, mean, variance = ops.batch_norm(x, gamma, beta, 1e-1)
        if more == "y":
            return ops.relu(y) + ops.tanh(y)
        if more == "grad":
            return ops.relu(y) * (1 + ops.reshape(mean * variance, (1, -1, 1, 1)))
        return ops.relu(y) + 2 * ops.relu(y)

    arrays = [numbers(4, 16, 5, 3), numbers(16, seed=1), numbers(16, seed=2)]
    compare(with_gradients(function, *arrays), arrays, 1e-3, 1e-3)


@pytest.fixture
def loops(monkeypatch):
    """Forces compiled loops for batch normalization of any size, if there is a compiler."""
    if get("onednn").compiler is None:
        pytest.skip("llvmlite is not here")
    monkeypatch.setattr(batch_norms, "WIDE", 1)
    monkeypatch.setattr(batch_norms, "LARGE", 1)


@pytest.mark.parametrize("relu", [False, True], ids=["alone", "with ReLU"])
@pytest.mark.parametrize(
    "shape",
    [(2, 16, 3, 5), (5, 48, 1, 1), (3, 32, 20, 21), (1, 16, 23, 59), (2, 16, 2, 3, 4)],
    ids=str,
)
def test_compiled_batch_norm_agrees_with_the_reference(shape, relu, loops):
    def function(x, gamma, beta):
        y = ops.batch_norm(x, gamma, beta, 1e-1)[0]
        return ops.relu(y) if relu else y

    x = 3 + numbers(*shape) * np.linspace(0.1, 9, shape[1]).reshape(-1, *[1] * (len(shape) - 2))
    arrays = [x.astype(np.float32), numbers(shape[1], seed=1), numbers(shape[1], seed=2)]
    graph = with_gradients(function, *arrays)
    steps = compile(graph, "onednn").steps
    assert [s.kernel for s in steps if "Norm" in s.op] == ["compiled loop"] * 2
    compare(graph, arrays, 1e-3, 1e-3)


@pytest.mark.slow
def test_compiled_batch_norm_gives_the_same_bits_on_any_number_of_threads(loops):
    def function(x, gamma, beta):
        return ops.relu(ops.batch_norm(x, gamma, beta, 1e-3)[0])

    arrays = [numbers(8, 64, 40, 41), numbers(64, seed=1), numbers(64, seed=2)]
    graph, found = with_gradients(function, *arrays), []
    for threads in (1, 2, 3, 5):
        with threadpool_limits(threads):
            outputs = compile(graph, "onednn").run(feeds(arrays))
        found.append([value.tobytes() for value in outputs.values()])
    assert all(other == found[0] for other in found[1:])


@pytest.mark.parametrize("relu", [False, True], ids=["alone", "with ReLU"])
def test_compiled_normalization_in_use_agrees_with_the_reference(relu, loops):
    x, row = numbers(3, 32, 5, 4), numbers(32, seed=1)
    graph = trace(
        lambda *a: ops.relu(ops.normalize(*a)) if relu else ops.normalize(*a),
        *(arrays := [x, row, row + 1, row * 2, np.abs(row)]),
    )
    assert [s.kernel for s in compile(graph, "onednn").steps] == ["compiled loop"]
    compare(graph, arrays)


def test_statistics_of_numbers_far_from_0_keep_their_digits(loops):
    x = (1000 + numbers(4, 16, 30, 30)).astype(np.float32)
    graph = trace(lambda x: ops.batch_norm(x, np.ones(16, np.float32), np.zeros(16, np.float32)), x)
    found = compile(graph, "onednn").run(feeds([x]))
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found["y1"], wide.mean((0, 2, 3)), rtol=1e-7)
    np.testing.assert_allclose(found["y2"], wide.var((0, 2, 3)), rtol=1e-5)


def test_channels_that_do_not_fill_vectors_are_left_to_onednn(loops):
    found = kernels(rectified, numbers(2, 20, 3, 4), numbers(20), numbers(20))
    assert len(found) == 2 and "compiled loop" not in found
    compare_all = [numbers(2, 20, 3, 4), numbers(20, seed=1), numbers(20, seed=2)]
    compare(with_gradients(rectified, *compare_all), compare_all, 1e-3, 1e-3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_normalization_in_use_of_drawn_shapes(data):
    space = data.draw(st.lists(st.integers(1, 6), min_size=0, max_size=3))
    shape = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 40)), *space
    arrays = [numbers(*shape), *(numbers(shape[1], seed=seed) for seed in range(1, 4))]
    arrays.append(np.abs(numbers(shape[1], seed=4)))
    for function in (ops.normalize, lambda *a: ops.relu(ops.normalize(*a))):
        compare(trace(lambda *a, f=function: f(*a), *arrays), arrays, 1e-3, 1e-3)


def test_normalization_in_use_and_relu_are_one_kernel():
    arrays = [numbers(4, 32, 5, 3), *(np.ones(32, np.float32) for _ in range(4))]
    steps = compile(trace(lambda *a: ops.relu(ops.normalize(*a)), *arrays), "onednn").steps
    assert ["bnorm" in s.kernel for s in steps if s.kernel != "memcpy"] == [True]
