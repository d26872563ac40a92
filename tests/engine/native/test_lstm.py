"""The compiled LSTM against the reference: drawn shapes, layouts, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine.backends import base
from sparkdl.engine.native.jit import find_compiler
from sparkdl.engine.native.llvm_code import LANES
from sparkdl.engine.native.lstm import GATES, Groups, lstm_kernel
from sparkdl.engine.native.register_products import ROWS
from sparkdl.engine.ops.recurrent.lstm import LstmOp
from sparkdl.errors import OperandError

pytestmark = pytest.mark.skipif(
    base.get("auto").name != "onednn" or find_compiler() is None,
    reason="libdnnl or llvmlite is not here",
)


def draw(n, steps, features, units):
    rng = np.random.default_rng(n + steps)
    shapes = [(n, steps, features), (features, 4 * units), (units, 4 * units), (4 * units,)]
    return [rng.standard_normal(s, np.float32) / 3 for s in (*shapes, (n, units), (n, units))]


def in_panels(w):
    return np.ascontiguousarray(w.reshape(len(w), -1, LANES).swapaxes(0, 1))


def run(arrays, backwards=False, threads=1, steps_first=False):
    """Returns (y, last h, last c); the sequences may lie in memory with the steps first."""
    x, wx, wh, *rest = arrays
    n, steps, _ = x.shape
    y = np.full((n, steps, len(wh)), np.nan, np.float32)
    if steps_first:
        x, y = (np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1) for a in (x, y))
    outputs = y, *(np.full((n, len(wh)), np.nan, np.float32) for _ in range(2))
    z = np.empty((n, GATES, LANES), np.float32)
    inputs = x, in_panels(wx), in_panels(wh), *rest
    lstm_kernel(inputs, outputs, z, backwards, find_compiler(), threads)()
    return outputs


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(1, 21),
    st.sampled_from([16, 48]),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_drawn_shapes(n, steps, features, units, threads, backwards, steps_first):
    arrays = draw(n, steps, features, units)
    expected = LstmOp(backwards=backwards).reference(*(a.astype(np.float64) for a in arrays))
    results = run(arrays, backwards, threads, steps_first)
    for result, right in zip(results, expected, strict=False):
        np.testing.assert_allclose(result, right, rtol=0, atol=1e-5)


def test_threads_and_other_sequences_leave_the_same_bits():
    arrays = draw(50, 40, 65, 256)
    x, wx, wh, b, h, c = arrays
    few = run([x[:7].copy(), wx, wh, b, h[:7].copy(), c[:7].copy()])
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            results = run(arrays, threads=threads)
        for result, one in zip(results, few, strict=True):
            np.testing.assert_array_equal(result[:7], one)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("sequences", [1, 5, 6, 7, 50, 64, 100])
def test_groups_hold_all_sequences(sequences, threads):
    groups = Groups.of(sequences, threads)
    assert 0 <= groups.long <= groups.count and groups.size <= ROWS
    short = groups.count - groups.long
    assert groups.long * groups.size + short * (groups.size - 1) == sequences


def test_weights_that_are_too_few_are_an_error():
    x, wx, wh, *rest = draw(6, 2, 16, 32)
    with pytest.raises(OperandError, match="wh needs 4096 float32"):
        run([x, wx, wh[:, :-LANES].copy(), *rest])
