"""Compiled random numbers equal sparkdl.philox's bit for bit, in any layout."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.native.draws import uniform_kernel
from sparkdl.engine.ops.random import UniformOp
from sparkdl.errors import UnsupportedError
from tests.engine.support import trace

COMPILER = getattr(get("auto"), "compiler", None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no oneDNN, or no llvmlite: numpy runs")

large = st.integers(0, 2**64 - 1)
SEED = 0x1234_5678_9ABC_DEF0


def channels_last(n, shape):
    return np.moveaxis(np.empty((n, *shape[1:], shape[0]), np.float32), -1, 1)


def drawn(op, ids, epoch, out):
    ids, epoch = np.asarray(ids, np.uint64), np.asarray(epoch, np.uint64)
    uniform_kernel(op, ids, epoch, out, COMPILER)()
    np.testing.assert_array_equal(out, op.reference(ids, epoch))


@settings(deadline=None, max_examples=60)
@given(
    ids=st.lists(large, min_size=1, max_size=5),
    shape=st.lists(st.integers(1, 12), max_size=4),
    seed=large,
    stream=st.integers(0, 2**32 - 1),
    epoch=st.integers(0, 2**32 - 1),
)
def test_numbers_are_the_same_bits_in_either_layout(ids, shape, seed, stream, epoch):
    op = UniformOp(tuple(shape), seed, stream)
    drawn(op, ids, epoch, np.empty((len(ids), *shape), np.float32))
    if shape:
        drawn(op, ids, epoch, channels_last(len(ids), shape))


@pytest.mark.parametrize("count", [1, 3, 4, 63, 64, 65, 1000, 70_001])
def test_any_count_of_numbers(count):
    drawn(UniformOp((count,), SEED, 7), [0, 2**63], 5, np.empty((2, count), np.float32))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads(threads):
    with threadpool_limits(threads):
        drawn(UniformOp((33, 20, 20), 3, 2), range(17), 1, channels_last(17, (33, 20, 20)))


def test_a_program_compiles_them():
    ids, epoch = np.arange(8, dtype=np.uint64), np.asarray(3, np.uint64)

    def function(ids, epoch):
        return ops.greater(ops.uniform(ids, epoch, (5, 6, 7), seed=1, stream=2), 0.25)

    program = compile(trace(function, ids, epoch), "onednn")
    assert {step.kernel for step in program.steps} == {"compiled loop"}
    found = program.run({"x0": ids, "x1": epoch})["y0"]
    np.testing.assert_array_equal(found, function(ids, epoch))


def test_an_order_that_is_not_compiled_is_left_to_numpy():
    out = np.empty((2, 5, 4, 3), np.float32).transpose(0, 3, 2, 1)
    ids, epoch = np.zeros(2, np.uint64), np.asarray(0, np.uint64)
    with pytest.raises(UnsupportedError, match="in no order that is compiled"):
        uniform_kernel(UniformOp((3, 4, 5), 1, 2), ids, epoch, out, COMPILER)
