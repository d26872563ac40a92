"""Compiled softmax cross entropies and their gradients against float64: short and long rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.native.cross_entropy import (
    SHORT_GRADIENT,
    SHORT_LOSS,
    cross_entropy_grad_kernel,
    cross_entropy_kernel,
)
from sparkdl.engine.native.short_softmax import SHORT
from sparkdl.engine.ops.softmax import SoftmaxCrossEntropyGradOp
from sparkdl.errors import UnsupportedError
from tests.engine.support import feeds, trace, with_gradients

COMPILER = getattr(get("auto"), "compiler", None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no oneDNN, or no llvmlite: numpy runs")

GRADIENT = SoftmaxCrossEntropyGradOp()
KINDS = st.sampled_from(["int32", "int64", "uint8", "int8"])


def loss_of(logits, labels):
    losses = np.empty(labels.shape, np.float32)
    cross_entropy_kernel(ops.softmax_cross_entropy, logits, labels, losses, COMPILER)()
    return losses


def gradient_of(gy, logits, labels):
    gradient = np.full(logits.shape, np.nan, np.float32)
    cross_entropy_grad_kernel(GRADIENT, gy, logits, labels, gradient, COMPILER)()
    return gradient


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(1, 70), st.integers(1, 70), KINDS)
def test_drawn_shapes(n, classes, kind):
    rng = np.random.default_rng(0)
    logits = (10 * rng.standard_normal((n, classes))).astype(np.float32)
    labels, gy = rng.integers(0, classes, n).astype(kind), rng.standard_normal(n)
    exact = ops.softmax_cross_entropy(logits.astype(np.float64), labels)
    np.testing.assert_allclose(loss_of(logits, labels), exact, rtol=1e-6, atol=1e-6)
    exact = GRADIENT(gy, logits.astype(np.float64), labels)
    actual = gradient_of(gy.astype(np.float32), logits, labels)
    np.testing.assert_allclose(actual, exact, rtol=1e-5, atol=1e-6)


def test_losses_at_the_edges():
    big, inf = 3e38, np.inf
    logits = [[big, -big, 0], [-inf, 0, 0], [0, np.nan, 0], [inf, 0, 0], [-1e4, -1e4, -1e4]]
    logits, labels = np.array(logits, np.float32), np.array([0, 1, 0, 0, 2])
    expected = [0, np.log(2), np.nan, np.nan, np.log(3)]
    for wide in (logits, widen(logits)):
        np.testing.assert_allclose(loss_of(wide, labels), expected, rtol=1e-6)


def widen(logits):
    """Appends classes of no probability, so that rows are long."""
    return np.pad(logits, ((0, 0), (0, SHORT_LOSS)), constant_values=-np.inf)


def test_gradients_at_the_edges():
    big, inf = 3e38, np.inf
    logits = np.array([[big, -big, 0], [-inf, 0, 0], [0, np.nan, 0]], np.float32)
    labels, gy = np.array([1, 1, 0]), np.float32([2, 1, 1])
    expected = [[2, -2, 0], [0, -0.5, 0.5], [np.nan] * 3]
    for wide in (logits, widen(logits)):
        actual = gradient_of(gy, wide, labels)
        np.testing.assert_allclose(actual[:, :3], expected, rtol=1e-6)
        assert not actual[:2, 3:].any()


@pytest.mark.parametrize("classes", [4, SHORT_LOSS + 4])
def test_a_label_that_is_no_class_touches_nothing_else(classes):
    logits, labels = np.zeros((4, classes), np.float32), np.array([classes, -1, 3, 2**32])
    losses = loss_of(logits, labels)
    np.testing.assert_allclose(losses, [np.nan, np.nan, np.log(classes), np.nan], rtol=1e-6)
    actual = gradient_of(np.ones(4, np.float32), logits, labels)
    expected = np.full((4, classes), 1 / classes)
    expected[2, 3] -= 1
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("classes", [3, SHORT_GRADIENT, SHORT_LOSS, 100])
def test_any_number_of_threads_gives_the_same_bits(classes, rng):
    logits = rng.standard_normal((40_001, classes)).astype(np.float32)
    labels, gy = rng.integers(0, classes, 40_001), rng.standard_normal(40_001).astype(np.float32)
    found = loss_of(logits, labels), gradient_of(gy, logits, labels)
    with threadpool_limits(1):
        alone = loss_of(logits, labels), gradient_of(gy, logits, labels)
    for many, one in zip(found, alone, strict=True):
        np.testing.assert_array_equal(many, one)


def test_rows_with_gaps(rng):
    room = rng.standard_normal((50, 9)).astype(np.float32)
    labels, gy = rng.integers(0, 5, 50), np.ones(50, np.float32)
    gaps, dense = room[:, 2:7], np.ascontiguousarray(room[:, 2:7])
    np.testing.assert_array_equal(loss_of(gaps, labels), loss_of(dense, labels))
    np.testing.assert_array_equal(gradient_of(gy, gaps, labels), gradient_of(gy, dense, labels))
    with pytest.raises(UnsupportedError, match="in no order that is compiled"):
        loss_of(np.asfortranarray(dense), labels)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_programs_compute_the_gradient_of_each_type(dtype, rng):
    logits, labels = rng.standard_normal((6, 5)), rng.integers(0, 5, 6)

    graph = with_gradients(lambda z: mean_loss(z, labels), ops.cast(logits, dtype))
    program = compile(graph, "onednn")
    names = [step.op for step in program.steps]
    gradient = program.run(feeds([ops.cast(logits, dtype)]))["g0"].astype(np.float64)
    expected = 2 * mean_loss(logits, labels) * (ops.softmax(logits) - np.eye(5)[labels]) / 6
    np.testing.assert_allclose(gradient, expected, atol=1e-2 if dtype == "bfloat16" else 1e-6)
    assert ("SoftmaxCrossEntropyGrad" in names) == (dtype == "float32")
    assert ("OneHot" in names) == (dtype != "float32")


def mean_loss(logits, labels):
    return ops.mean(ops.softmax_cross_entropy(logits, labels))


def test_softmax_of_short_rows_is_a_compiled_loop(rng):
    for shape, compiled in {(37, 3): True, (2, 5, SHORT): True, (9, SHORT + 1): False}.items():
        x = (20 * rng.standard_normal(shape)).astype(np.float32)
        program = compile(trace(ops.softmax, x), "onednn")
        assert ([step.kernel for step in program.steps] == ["compiled loop"]) == compiled
        exact = ops.softmax(x.astype(np.float64))
        np.testing.assert_allclose(program.run(feeds([x]))["y0"], exact, rtol=1e-5, atol=1e-30)
