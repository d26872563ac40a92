"""oneDNN against the reference: convolution and pooling of random shapes over one to three axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.engine import compile, ops
from sparkdl.engine.backends import get
from sparkdl.engine.dtypes import BFLOAT16
from tests.engine.support import close_on_onednn, compare, trace, with_gradients

pytestmark = pytest.mark.skipif(
    get("auto").name != "onednn", reason="libdnnl is not here: the reference backend runs"
)
ranks = pytest.mark.parametrize("axes", [1, 2, 3])


def each(draw, axes, least, most):
    return tuple(draw(st.integers(least, most)) for _ in range(axes))


def windows(draw, axes, most):
    """Draws (size, options) of windows, some with strides larger than the window."""
    size = each(draw, axes, 1, most)
    options = {
        "stride": each(draw, axes, 1, 4),
        "padding": tuple(each(draw, 2, 0, 2) for _ in range(axes)),
        "dilation": each(draw, axes, 1, 2),
    }
    return size, options


def least_space(size, options):
    return [d * (k - 1) + 1 for k, d in zip(size, options["dilation"], strict=True)]


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def convolution(draw, axes):
    """Draws (x, w, options) that fit; one group in three is depthwise."""
    size, options = windows(draw, axes, 4 if axes < 3 else 3)
    depthwise = draw(st.integers(0, 2)) == 0
    groups = draw(st.sampled_from([1, 2, 3, 8, 16] if depthwise else [1, 1, 2, 3]))
    inner, outer = (1, 1) if depthwise else (draw(st.integers(1, 17)), draw(st.integers(1, 9)))
    space = [draw(st.integers(n, n + 6)) for n in least_space(size, options)]
    x = normal(draw(st.integers(1, 3)), groups * inner, *space)
    w = normal(groups * outer, inner, *size) / np.sqrt(inner * np.prod(size))
    return x, w.astype(np.float32), options | {"groups": groups}


@pytest.mark.slow
@ranks
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_convolutions_of_drawn_shapes(axes, data):
    x, w, options = convolution(data.draw, axes)
    b = normal(len(w))

    def function(x, w, b):
        return ops.relu(ops.add_bias(ops.conv(x, w, **options), b, 1))

    close_on_onednn(trace(function, x, w, b), [x, w, b])
    close_on_onednn(with_gradients(function, x, w, b), [x, w, b])


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, (2, 3)])
def test_convolutions_over_one_column(stride, groups):
    x, w = normal(3, 4, 20, 1), normal(8, 4 // groups, 5, 1) / np.float32(5)
    padding = ((2, 1), (0, 0 if stride == 1 else 1))
    options = {"stride": stride, "padding": padding, "dilation": (2, 1), "groups": groups}

    def function(x, w, b):
        return ops.relu(ops.add_bias(ops.conv(x, w, **options), b, 1))

    close_on_onednn(trace(function, x, w, normal(8)), [x, w, normal(8)])


@pytest.mark.slow
@ranks
@settings(max_examples=30, deadline=None)
@given(st.data())
def test_transposed_convolutions_of_drawn_shapes(axes, data):
    image, w, options = convolution(data.draw, axes)
    x = normal(*ops.conv(image, w, **options).shape)

    b = normal(image.shape[1])

    def function(x, w, b):
        y = ops.add_bias(ops.conv_transpose(x, w, image.shape[2:], **options), b, 1)
        return data.draw(st.sampled_from([ops.relu, ops.copy]))(y)

    close_on_onednn(trace(function, x, w, b), [x, w, b])
    close_on_onednn(with_gradients(function, x, w, b), [x, w, b])


def pooled(draw, axes, dilated):
    """Draws (x, size, options) that fit."""
    size, options = windows(draw, axes, 4)
    options["padding"] = tuple(
        (draw(st.integers(0, k - 1)), draw(st.integers(0, k - 1))) for k in size
    )
    options["dilation"] = options["dilation"] if dilated else (1,) * axes
    space = [draw(st.integers(n, n + 5)) for n in least_space(size, options)]
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 20)), *space
    x = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape)
    return (x / x.size - 0.5).astype(np.float32), size, options


@pytest.mark.slow
@ranks
@pytest.mark.parametrize("pool", [ops.max_pool, ops.avg_pool, ops.lp_pool])
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_pooling_of_drawn_shapes(pool, axes, data):
    x, size, options = pooled(data.draw, axes, dilated=data.draw(st.booleans()))
    close_on_onednn(trace(lambda x: pool(x, size, **options), x), [x])
    close_on_onednn(with_gradients(lambda x: pool(x, size, **options), x), [x])


@pytest.mark.parametrize("size", [15, 16, 17])
def test_a_maximum_of_more_places_than_a_byte_can_tell(size):
    x = normal(2, 3, 40, 40)
    graph = with_gradients(lambda x: ops.max_pool(x, size), x)
    compare(graph, [x])
    steps = compile(graph, "onednn").steps
    assert [s.op for s in steps if "MaxPool" in s.op] == ["MaxPoolWithPlaces", "MaxPoolToPlaces"]
    assert not [s.kernel for s in steps if "MaxPool" in s.op and "numpy" in s.kernel]


def heavy(function, *arrays):
    """Returns the steps that convolve or pool, forward and backward."""
    steps = compile(with_gradients(function, *arrays), "onednn").steps
    return [step for step in steps if "Conv" in step.op or "Pool" in step.op]


SPACES = {1: (30,), 2: (12, 11), 3: (6, 7, 8)}


@ranks
@pytest.mark.parametrize("groups", [1, 32], ids=["dense", "depthwise"])
def test_convolution_has_kernels_of_its_own(axes, groups):
    x, w = normal(2, 32, *SPACES[axes]), normal(32, 32 // groups, *[3] * axes)
    steps = heavy(lambda x, w: ops.conv(x, w, padding=1, groups=groups), x, w)
    assert len(steps) == 3
    assert not [(s.op, s.kernel) for s in steps if "numpy" in s.kernel]


@ranks
@pytest.mark.parametrize("pool", [ops.max_pool, ops.avg_pool])
def test_pooling_has_kernels_of_its_own(axes, pool):
    steps = heavy(lambda x: pool(x, 3, 2, 1), normal(2, 16, *SPACES[axes]))
    assert len(steps) == 2
    assert not [(s.op, s.kernel) for s in steps if "numpy" in s.kernel]


def test_a_convolution_over_a_sequence_moves_nothing():
    """No step copies between (N, T, F) and an image of one row."""

    def function(x, w, b):
        y = ops.conv(ops.sequence_to_image(ops.tanh(x)), w, padding=((0, 0), (1, 1)))
        return ops.image_to_sequence(ops.relu(ops.add_bias(y, b, 1)))

    arrays = normal(2, 20, 16), normal(32, 16, 1, 3), normal(32)
    graph = with_gradients(function, *arrays)
    close_on_onednn(graph, arrays)
    steps = [step.op for step in compile(graph, "onednn").steps]
    assert not [op for op in steps if "Sequence" in op or op in ("Transpose", "Relayout", "copy")]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.reshape(ops.image_to_sequence(x), (2, 15)),
        lambda x: ops.reshape(ops.image_to_sequence(ops.square(x)), (2, 15)),
        lambda x: ops.image_to_sequence(ops.reshape(x, (3, 2, 1, 5))),
        lambda x: (ops.exp(x), ops.reshape(ops.image_to_sequence(ops.exp(x)), (2, 15))),
        lambda x: ops.sequence_to_image(ops.image_to_sequence(x)),
    ],
)
def test_sequences_of_images_wherever_they_lie(function):
    x = normal(2, 3, 1, 5)
    compare(trace(function, x), [x])


@ranks
@pytest.mark.parametrize("linear", [False, True], ids=["nearest", "linear"])
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_sizes_drawn(axes, linear, data):
    draw = data.draw
    x = normal(draw(st.integers(1, 3)), draw(st.integers(1, 17)), *each(draw, axes, 1, 7))
    space = each(draw, axes, 1, 15)
    close_on_onednn(trace(lambda x: ops.resize(x, space, linear), x), [x])
    close_on_onednn(with_gradients(lambda x: ops.resize(x, space, linear), x), [x])


@ranks
def test_resizing_has_kernels_of_its_own(axes):
    x = normal(2, 16, *SPACES[axes])
    wider = [2 * n for n in SPACES[axes]]
    steps = compile(with_gradients(lambda x: ops.resize(x, wider), x), "onednn").steps
    resizing = [step for step in steps if "Resize" in step.op]
    assert len(resizing) == 2
    assert not [step.kernel for step in resizing if "numpy" in step.kernel]


def narrowly(function):
    """Casts to bfloat16 for the convolution and back to float32."""
    return lambda *xs: ops.cast(function(*(ops.cast(x, BFLOAT16) for x in xs)), "float32")


@pytest.mark.slow
@ranks
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_drawn_convolutions_in_bfloat16(axes, data):
    x, w, options = convolution(data.draw, axes)
    y = normal(*ops.conv(x, w, **options).shape)
    forward = narrowly(lambda x, w: ops.conv(x, w, **options))
    back = narrowly(lambda y, w: ops.conv_transpose(y, w, x.shape[2:], **options))
    for function, first in ((forward, x), (back, y)):
        close_on_onednn(trace(function, first, w), [first, w], 2e-2)
        close_on_onednn(with_gradients(function, first, w), [first, w], 2e-2)


@pytest.mark.slow
@ranks
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_drawn_pooling_and_sizes_in_bfloat16(axes, data):
    x, size, options = pooled(data.draw, axes, dilated=False)
    space = each(data.draw, axes, 1, 15)
    average = narrowly(lambda x: ops.avg_pool(x, size, **options))
    largest = narrowly(lambda x: ops.max_pool(x, size, **options))
    resized = narrowly(lambda x: ops.resize(x, space, linear=True))
    for function in (average, resized):
        close_on_onednn(trace(function, x), [x], 2e-2)
        close_on_onednn(with_gradients(function, x), [x], 2e-2)
    close_on_onednn(trace(largest, x), [x], 1e-7)  # rounding makes ties, which any position may win
