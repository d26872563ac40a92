"""Sums and maxima on the host driver: any axes, layouts and dtypes, and large results."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from tests.engine.backends.cuda.support import assert_same, near
from tests.engine.support import feeds, trace, uniform

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=5).map(tuple)


@pytest.mark.slow
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(shape=SHAPES, axes=st.sets(st.integers(0, 4)), keep=st.booleans())
def test_drawn_axes(shape, axes, keep):
    axes = tuple(a for a in sorted(axes) if a < len(shape))
    x = uniform(0, *shape, low=0.1).astype(np.float32)
    both = trace(lambda x: (ops.sum(ops.copy(x), axes, keep), ops.max(x, axes, keep)), x)
    found = compile(both, "cuda").run(feeds([x]))
    wide = x.astype(np.float64)  # numpy's own float32 sums have larger errors than ours
    near(found["y0"], wide.sum(axes, keepdims=keep), 1e-6)
    np.testing.assert_array_equal(found["y1"], x.max(axes, keepdims=keep))


LONG = {"all": ((70_001,), None), "columns": ((5000, 3), 0), "rows": ((3, 5000), 1)}
LONG |= {"channels": ((8, 6, 20, 20), (0, 2, 3)), "middle": ((3, 4000, 5), 1)}
LONG |= {"many channels": ((8, 40, 20, 20), (0, 2, 3)), "a channel": ((8, 8, 20, 20), (0, 2, 3))}
LONG |= {"wide rows": ((700, 24), 0), "very wide rows": ((256, 2048), 0)}


@pytest.mark.parametrize("shape, axes", LONG.values(), ids=LONG)
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int32])
def test_few_results_of_many_numbers_take_two_launches(shape, axes, dtype):
    x = (10 * uniform(0, *shape, low=0.1)).astype(dtype)
    graph = trace(lambda x: (ops.sum(x, axes), ops.max(x, axes)), x)
    assert_same(graph, [x], 3e-6, runs=2)


def test_what_a_broadcast_repeated_is_summed():
    x = uniform(0, 4, 6, 5, 5).astype(np.float32)
    graph = trace(lambda x: [ops.sum_to(x, s) for s in [(6, 1, 1), (4, 1, 5, 1), (5,), ()]], x)
    assert_same(graph, [x], runs=1)


def test_nan_and_nothing():
    x = np.float32([[1, np.nan, 3], [-np.inf, 2, np.inf]])
    graph = trace(lambda x: (ops.max(x, 1), ops.max(x, 0), ops.sum(x, 1)), x)
    assert_same(graph, [x], runs=1)
    none = np.zeros((0, 3), np.float32)
    assert_same(trace(lambda x: (ops.sum(x, 0), ops.sum(x, 1), ops.max(x, 1)), none), [none])


def test_the_same_bits_each_time():
    x = uniform(0, 70_001).astype(np.float32)
    program = compile(trace(lambda x: ops.sum(x), x), "cuda")
    assert len({float(program.run({"x0": x})["y0"]) for _ in range(3)}) == 1
