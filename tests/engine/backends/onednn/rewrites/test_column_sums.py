"""bfloat16 sums over all but the features become products with ones, over random shapes."""

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.backends.onednn.rewrites.column_sums import ones
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.support import close_on_onednn, ops_of, trace

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=3), st.booleans())
def test_column_sums_of_drawn_shapes(shape, keepdims):
    x = np.random.default_rng(0).standard_normal(shape).astype(BFLOAT16)
    graph = trace(lambda x: ops.sum(x, range(len(shape) - 1), keepdims), x)
    assert ops_of(compile(graph, "onednn")) == ["ColumnSums"]
    close_on_onednn(graph, [x])


@pytest.mark.parametrize("kind, axes", [("float32", 0), ("int32", 0), (BFLOAT16, 1)])
def test_other_sums_are_left(kind, axes):
    program = compile(trace(lambda x: ops.sum(x, axes), np.ones((4, 6), kind)), "onednn")
    assert ops_of(program) == ["Sum"]


def test_ones_outlive_the_making_of_a_program():
    """The primitive keeps only an address, so the array of ones must stay alive."""
    x = np.random.default_rng(0).standard_normal((700, 8)).astype(BFLOAT16)
    program = compile(trace(lambda x: ops.sum(x, 0), x), "onednn")
    ones.cache_clear()
    np.full((1, 700), 7, BFLOAT16)  # would reuse freed memory
    expected = x.astype(np.float32).sum(0)
    np.testing.assert_allclose(program.run({"x0": x})["y0"], expected, rtol=1e-4, atol=1e-4)


def test_ones_of_earlier_batches_are_freed():
    held = [weakref.ref(ones(count, "bfloat16")) for count in range(100, 140)]
    assert sum(one() is not None for one in held) <= 8
