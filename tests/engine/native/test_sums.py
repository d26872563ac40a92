"""Compiled sums of rows against numpy: random shapes and layouts, any thread count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.native.sums import sum_kernel, sum_to_kernel
from sparkdl.engine.ops.reduce import SumOp
from sparkdl.engine.ops.shape import SumToOp
from sparkdl.errors import UnsupportedError
from tests.engine.support import feeds, trace

COMPILER = getattr(get("auto"), "compiler", None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no oneDNN, or no llvmlite: numpy runs")

shapes = st.lists(st.integers(1, 40), min_size=1, max_size=4)


def numbers(shape, last=False):
    """Returns random numbers; with `last`, axis 1 is innermost in memory."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    if not last or len(shape) < 2:
        return x
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def summed(make, op, x, expected):
    """Compares with the exact sum; returns False if the kernel leaves it to numpy."""
    y = np.empty(expected.shape, np.float32)
    try:
        make(op, x, y, COMPILER)()
    except UnsupportedError as error:
        assert "order that is compiled" in str(error) or "alternate" in str(error)
        return False
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)
    return True


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(shapes, st.sets(st.integers(0, 3)), st.booleans(), st.booleans())
def test_sums_of_drawn_shapes(shape, axes, keepdims, last):
    axes = tuple(sorted({a % len(shape) for a in axes}))
    x = numbers(shape, last)
    exact = np.sum(x.astype(np.float64), axis=axes, keepdims=keepdims)
    summed(sum_kernel, SumOp(axes, keepdims), x, exact)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(shapes, st.lists(st.booleans(), min_size=4, max_size=4), st.integers(0, 3), st.booleans())
def test_sums_to_drawn_shapes(shape, kept, lead, last):
    x, lead = numbers(shape, last), min(lead, len(shape))
    to = tuple(n if keep else 1 for n, keep in zip(shape, kept, strict=False))[lead:]
    exact = SumToOp(to).reference(x.astype(np.float64))
    summed(sum_to_kernel, SumToOp(to), x, exact)


USUAL = {
    "bias of rows": ((50, 70), (0,), False),
    "bias of sequences": ((5, 6, 70), (0, 1), False),
    "bias of images": ((5, 20, 6, 7), (0, 2, 3), True),
    "places of an image": ((5, 20, 6, 7), (2, 3), True),
    "rows": ((50, 70), (1,), False),
    "all": ((50, 70), (0, 1), False),
    "all of images": ((5, 20, 6, 7), (0, 1, 2, 3), True),
    "nothing": ((50, 70), (), False),
}


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("keepdims", [True, False])
def test_usual_sums_are_compiled(name, keepdims):
    shape, axes, last = USUAL[name]
    x = numbers(shape, last)
    exact = np.sum(x.astype(np.float64), axis=axes, keepdims=keepdims)
    assert summed(sum_kernel, SumOp(axes, keepdims), x, exact)


@pytest.mark.parametrize("shape, axes", [((1000, 700), (0,)), ((700, 1000), (1,))])
def test_any_number_of_threads_gives_the_same_bits(shape, axes):
    x = numbers(shape)
    found = []
    for threads in (1, 2, 3):
        y = np.empty(700, np.float32)
        with threadpool_limits(threads):
            sum_kernel(SumOp(axes, False), x, y, COMPILER)()
        found.append(y)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_an_empty_batch_is_left_to_numpy():
    x, y = np.empty((0, 70), np.float32), np.ones(70, np.float32)
    with pytest.raises(UnsupportedError, match="an empty batch"):
        sum_kernel(SumOp((0,), False), x, y, COMPILER)
    found = compile(trace(lambda x: ops.sum(x, 0), x), "onednn").run(feeds([x]))
    assert not found["y0"].any()


def test_a_sum_of_many_numbers_loses_no_digits():
    x = np.full((1_000_000, 3), 0.1, np.float32)
    y = np.empty(3, np.float32)
    sum_kernel(SumOp((0,), False), x, y, COMPILER)()
    np.testing.assert_allclose(y, 1e6 * np.float64(np.float32(0.1)), rtol=1e-7)


def test_what_is_infinite_stays():
    x = np.array([[1, np.inf, np.nan, np.inf], [2, 3, 4, -np.inf]], np.float32)
    y = np.empty(4, np.float32)
    sum_kernel(SumOp((0,), False), x, y, COMPILER)()
    np.testing.assert_array_equal(y, [3, np.inf, np.nan, np.nan])


FUNCTIONS = {
    "one hot": (lambda x: ops.one_hot(x, 7), np.arange(6, dtype=np.int32)),
    "broadcast": (lambda x: ops.broadcast_to(x, (4, 3, 20)), numbers((3, 1))),
    "cast": (lambda x: ops.cast(x, "float32"), np.arange(100, dtype=np.uint8)),
    "copy": (lambda x: ops.copy(x), numbers((7, 9))),
    "sum": (lambda x: ops.sum(x, 0), numbers((7, 9))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_compile_them(name):
    function, x = FUNCTIONS[name]
    program = compile(trace(function, x), "onednn")
    assert [step.kernel for step in program.steps] == ["compiled loop"]
    found, expected = program.run(feeds([x]))["y0"], function(x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
