"""Number of windows: published sizes, and every small case enumerated."""

from itertools import product
from math import ceil

import numpy as np
import pytest

from sparkdl.errors import ShapeError
from sparkdl.nn import NetworkConf
from sparkdl.nn.layers import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    DepthwiseConv2D,
    GlobalPool,
    LpPool1D,
    LpPool2D,
    LpPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    Output,
    SpatialPyramidPool,
    StochasticPool2D,
)
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.geometry import window_padding, windows

# (layer, input, output) of published networks
PUBLISHED = [
    (Conv2D(filters=96, kernel_size=11, stride=4), (3, 227, 227), (96, 55, 55)),  # AlexNet conv1
    (MaxPool2D(size=3, stride=2), (96, 55, 55), (96, 27, 27)),  # AlexNet pool1
    (MaxPool2D(size=3, stride=2, rounding="ceil"), (32, 32, 32), (32, 16, 16)),  # Caffe cifar10
    (AvgPool2D(size=3, stride=2, rounding="ceil"), (32, 16, 16), (32, 8, 8)),
    (MaxPool2D(size=3, stride=2, rounding="ceil"), (64, 112, 112), (64, 56, 56)),  # GoogLeNet
    (
        Conv2D(filters=64, kernel_size=7, stride=2, padding=3),
        (3, 224, 224),
        (64, 112, 112),
    ),  # ResNet
    (MaxPool2D(size=3, stride=2, padding=1), (64, 112, 112), (64, 56, 56)),
    (Conv2D(filters=8, kernel_size=3, stride=2, padding="same"), (3, 7, 8), (8, 4, 4)),
    (Conv2D(filters=8, kernel_size=3, padding=2, dilation=2), (3, 9, 9), (8, 9, 9)),
    (Conv3D(filters=64, kernel_size=3, padding=1), (3, 16, 112, 112), (64, 16, 112, 112)),  # C3D
    (MaxPool3D(size=(1, 2, 2)), (64, 16, 112, 112), (64, 16, 56, 56)),
    (Conv2DTranspose(filters=512, kernel_size=4), (100, 1, 1), (512, 4, 4)),  # DCGAN's generator
    (Conv2DTranspose(filters=256, kernel_size=4, stride=2, padding=1), (512, 4, 4), (256, 8, 8)),
    (SpatialPyramidPool(height=3), (256, 13, 13), (256 * 21,)),  # SPP-net on AlexNet's conv5
    (
        DepthwiseConv2D(kernel_size=3, stride=2, padding="same"),
        (64, 112, 112),
        (64, 56, 56),
    ),  # Xception
    (Conv1D(filters=256, kernel_size=7), (1014, 70), (1008, 256)),  # character-level CNN
    (MaxPool1D(size=3), (1008, 256), (336, 256)),
]

SMALL = list(product(range(1, 9), range(1, 4), range(1, 4), range(2), range(2)))


@pytest.mark.parametrize("layer, in_shape, out_shape", PUBLISHED, ids=str)
def test_published_sizes(layer, in_shape, out_shape):
    assert layer.out_shape(in_shape) == out_shape


@pytest.mark.parametrize("rounding", ["floor", "ceil"])
def test_every_small_case_equals_a_count(rounding):
    for n, size, stride, before, after in SMALL:
        if n + before + after < size or max(before, after) >= size:  # as layers reject it
            continue
        sides = ((before, after), (before, after))
        padding = window_padding((n, n), size, stride, sides, rounding=rounding)
        whole = [i for i in range(0, n + before + after, stride) if i + size <= n + before + after]
        # "ceil" adds one partial window for the remainder if it begins before the end
        more = whole[-1] + stride
        rest = whole[-1] + size < n + before + after and more < n + before
        count = len(whole) + (rounding == "ceil" and rest)
        assert windows((n, n), size, stride, padding) == (count, count)


POOLS = {
    1: (MaxPool1D, AvgPool1D, LpPool1D),
    2: (MaxPool2D, AvgPool2D, LpPool2D, StochasticPool2D),
    3: (MaxPool3D, AvgPool3D, LpPool3D),
}
OPTIONS = [
    {"size": size, "stride": stride, "padding": padding, "dilation": dilation, "rounding": rounding}
    for size in (1, 2, 3)
    for stride in (1, 2, 5)
    for padding in (0, 1, 2, (0, 2), "same")
    for dilation in (1, 2, 4)
    for rounding in ("floor", "ceil")
    if padding == "same" or max(np.atleast_1d(padding)) <= dilation * (size - 1)
]


def window_points(layer, n):
    """Enumerates each window's points that lie on an axis of length n."""
    [(before, after)] = layer.padding_of((n,))
    span = layer.dilation * (layer.size - 1) + 1
    starts = range(-before, n + after - span + 1, layer.step[0])
    points = [[start + i * layer.dilation for i in range(layer.size)] for start in starts]
    return [[point for point in window if 0 <= point < n] for window in points]


@pytest.mark.slow
@pytest.mark.parametrize("kind", POOLS[1])
def test_every_window_of_a_pooling_layer_sees_a_number_or_it_is_refused(kind, rng):
    refused = 0
    for options, n in product(OPTIONS, (1, 2, 3, 6)):
        layer, x = kind(**options), 1 + rng.random((2, n, 3))
        try:
            shape = layer.out_shape((n, 3))
        except ShapeError as error:
            blind = f"{kind.__name__}.padding must leave each window a number of ({n},), got"
            assert ("does not fit" in str(error)) != str(error).startswith(blind)
            refused += str(error).startswith(blind)
            with pytest.raises(ShapeError):
                layer.forward({}, x, Run(training=True, seed=0))
            continue
        points = window_points(layer, n)
        assert all(points) and shape == (len(points), 3)
        y = layer.forward({}, x, Run(training=True, seed=0))
        if kind is MaxPool1D:
            np.testing.assert_array_equal(y, np.stack([x[:, p].max(1) for p in points], 1))
        assert np.isfinite(y).all() and (y > 0).all()
    assert refused > 5


@pytest.mark.parametrize("axes, kind", [(axes, kind) for axes in POOLS for kind in POOLS[axes]])
@pytest.mark.parametrize("padding", [2, "same"], ids=str)
def test_a_pooling_layer_whose_window_sees_only_padding_names_the_cure(axes, kind, padding):
    stride = {"stride": 1} if padding == "same" else {}
    layer = kind(size=2, dilation=4, padding=padding, **stride)
    in_shape = (2, 3) if axes == 1 else (3, *[2] * axes)
    with pytest.raises(ShapeError, match="must leave each window .* smaller padding or dilation"):
        layer.out_shape(in_shape)
    with pytest.raises(ShapeError, match=f"{kind.__name__.lower()}_1 cannot follow the input"):
        NetworkConf(input_shape=in_shape, layers=[layer, GlobalPool(), Output(units=2)])


def test_same_gives_one_window_for_each_stride():
    for n, size, stride, *_ in SMALL:
        padding = window_padding((n, n), size, stride, "same")
        assert windows((n, n), size, stride, padding)[0] == ceil(n / stride)
        before, after = padding[0]
        assert 0 <= after - before <= 1
