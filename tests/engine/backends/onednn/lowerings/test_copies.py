"""oneDNN against the reference: copies, over random shapes and layouts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from tests.engine.support import compare, trace, with_gradients

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)
shapes = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def normal(shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def check(function, *arrays):
    compare(trace(function, *arrays), arrays, 0, 0)
    compare(with_gradients(function, *arrays), arrays)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data(), shapes)
def test_transposes_of_drawn_shapes(data, shape):
    axes = data.draw(st.permutations(range(len(shape))))
    check(lambda x: ops.transpose(x, axes), normal(shape))


@settings(max_examples=40, deadline=None)
@given(st.data(), shapes)
def test_joined_and_cut_again_in_drawn_shapes(data, shape):
    axis = data.draw(st.integers(0, len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    xs = [normal((*shape[:axis], n, *shape[axis + 1 :])) for n in lengths]
    check(lambda *xs: ops.concat(xs, axis), *xs)


@settings(max_examples=40, deadline=None)
@given(st.data(), shapes)
def test_slices_of_drawn_shapes(data, shape):
    pairs = [sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
    check(lambda x: ops.slice(x, *zip(*pairs, strict=True)), normal(shape))


def test_images_are_copied_by_onednn_and_integers_by_numpy():
    x, ids = normal((2, 3, 4, 5)), np.arange(6, dtype=np.int64).reshape(2, 3)

    def function(x, ids):
        y = ops.transpose(ops.concat([x, ops.square(x)], 1), (0, 2, 3, 1))
        return ops.slice(y, (0, 0, 0, 0), (1, 2, 3, 4)), ops.transpose(ids, (1, 0))

    steps = compile(trace(function, x, ids), "onednn", strict=True).steps
    kernels = {step.op: step.kernel for step in steps if "(2, 3) ->" not in step.shapes}
    assert not [op for op, kernel in kernels.items() if op != "Square" and "numpy" in kernel]
    assert [step.kernel for step in steps if "(2, 3) ->" in step.shapes] == ["numpy, then copy"]
