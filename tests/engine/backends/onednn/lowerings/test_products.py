"""oneDNN against the reference: batched and multi-head products, softmax, gelu; random shapes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from tests.engine.support import close_on_onednn, compare, trace, with_gradients
from tests.support.processor import AVX512

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)
AFTER = [ops.relu, ops.tanh, ops.sigmoid, ops.gelu, ops.elu, lambda x: ops.leaky_relu(x, 0.3)]
few, many = st.integers(1, 4), st.integers(1, 40)


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.lists(few, min_size=1, max_size=2), many, many, many, st.booleans(), st.booleans())
def test_products_of_batches_of_drawn_shapes(lead, m, k, n, tx, ty):
    x = normal(*lead, *((k, m) if tx else (m, k)))
    y = normal(*lead, *((n, k) if ty else (k, n)))

    def function(x, y):
        return ops.matmul(x, y, tx, ty)

    close_on_onednn(trace(function, x, y), [x, y])
    close_on_onednn(with_gradients(function, x, y), [x, y], 1e-3)


def attend(heads, scale=0.5):
    def function(q, k, v, *bias):
        scores = ops.head_scores(q, k, *bias, heads=heads, scale=scale)
        return ops.head_mix(ops.softmax(scores), v, heads=heads)

    return function


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(few, many, many, few, many, st.sampled_from(["none", "rows", "keys"]))
def test_attention_of_drawn_shapes(n, t, s, heads, d, bias):
    arrays = [normal(n, length, heads * d) for length in (t, s, s)]
    arrays += {"none": [], "rows": [normal(n, t, s)], "keys": [normal(n, 1, s)]}[bias]
    function = attend(heads, d**-0.5)  # avoids saturating a softmax, whose gradient would cancel
    close_on_onednn(trace(function, *arrays), arrays)
    close_on_onednn(with_gradients(function, *arrays), arrays, 1e-3)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(many, min_size=1, max_size=3),
    st.sampled_from([ops.softmax, ops.log_softmax, ops.gelu, lambda x: ops.gelu(x, True)]),
)
def test_functions_along_rows_of_drawn_shapes(shape, function):
    x = 5 * normal(*shape)
    compare(trace(function, x), [x])
    close_on_onednn(with_gradients(function, x), [x])


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(many, many, many, st.sampled_from(AFTER))
def test_functions_after_products_of_drawn_shapes(m, k, n, function):
    arrays = normal(m, k), normal(k, n), normal(n)

    def dense(x, w, b):
        return function(ops.add_bias(ops.matmul(x, w), b))

    graph = trace(dense, *arrays)
    assert len(compile(graph, "onednn").steps) == 1
    compare(graph, arrays)
    close_on_onednn(with_gradients(dense, *arrays), arrays, 1e-3)


@pytest.mark.parametrize("function", AFTER)
def test_functions_after_convolutions(function):
    arrays = normal(2, 3, 6, 5), normal(8, 3, 3, 3), normal(8)

    def conv(x, w, b):
        return function(ops.add_bias(ops.conv(x, w), b, 1))

    graph = trace(conv, *arrays)
    assert len(compile(graph, "onednn").steps) == 1
    compare(graph, arrays)
    close_on_onednn(with_gradients(conv, *arrays), arrays, 1e-3)


@pytest.mark.parametrize("bias", [[], [normal(2, 16, 24)], [normal(2, 1, 24)]], ids=len)
def test_heads_are_read_where_they_lie(bias):
    """Scores, softmax and mixing of values, forward and backward, need no copies or relayouts."""
    arrays = [normal(2, length, 64) for length in (16, 24, 24)] + bias
    steps = compile(trace(attend(4), *arrays), "onednn").steps
    assert [step.op for step in steps] == ["HeadScores", "Softmax", "HeadMix"]
    steps += compile(with_gradients(attend(4), *arrays[:3]), "onednn").steps
    ours = [step for step in steps if step.op.startswith(("Head", "Softmax"))]
    assert len(ours) == 3 + 7 + AVX512  # without it the gradient of softmax is decomposed
    assert not [step for step in ours if "numpy" in step.kernel]
    assert not {"Transpose", "Relayout"} & {step.op for step in steps}


def test_softmax_leaves_out_what_lies_far_below():
    """Masks rely on this: exp(-1e30) is 0, and a fully masked row is uniform, not NaN."""
    x = np.array([[1, -1e30, 3], [-1e30, -1e30, -1e30]], np.float32)
    y = compile(trace(ops.softmax, x), "onednn").run({"x0": x})["y0"]
    assert y[0, 1] == 0
    np.testing.assert_allclose(y[1], 1 / 3, rtol=1e-6)


def test_weights_whose_rows_collide_in_the_cache_are_laid_out_ahead_of_the_runs():
    x, w = normal(3, 8), normal(8, 512)
    graph = trace(ops.matmul, x, w)
    program = compile(graph, "onednn", {"x1": w}, constant_bindings=True)
    assert "1 calls where weights are new" in program.describe()
    for _ in range(2):
        np.testing.assert_allclose(program.run({"x0": x})["y0"], x @ w, rtol=1e-5, atol=1e-5)
        w *= 2
        program.refresh()
