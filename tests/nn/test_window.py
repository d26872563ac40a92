"""How many windows there are: published sizes, and every small case counted one by one."""

from itertools import product
from math import ceil

import pytest

from sparkdl.nn.layers import (
    AvgPool2D,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    DepthwiseConv2D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    SpatialPyramidPool,
)
from sparkdl.nn.layers.window import window_padding, windows

# (layer, input, output) from published networks
PUBLISHED = [
    (Conv2D(filters=96, kernel=11, stride=4), (3, 227, 227), (96, 55, 55)),  # AlexNet conv1
    (MaxPool2D(size=3, stride=2), (96, 55, 55), (96, 27, 27)),  # AlexNet pool1
    (MaxPool2D(size=3, stride=2, rounding="ceil"), (32, 32, 32), (32, 16, 16)),  # Caffe cifar10
    (AvgPool2D(size=3, stride=2, rounding="ceil"), (32, 16, 16), (32, 8, 8)),
    (MaxPool2D(size=3, stride=2, rounding="ceil"), (64, 112, 112), (64, 56, 56)),  # GoogLeNet
    (Conv2D(filters=64, kernel=7, stride=2, padding=3), (3, 224, 224), (64, 112, 112)),  # ResNet
    (MaxPool2D(size=3, stride=2, padding=1), (64, 112, 112), (64, 56, 56)),
    (Conv2D(filters=8, kernel=3, stride=2, padding="same"), (3, 7, 8), (8, 4, 4)),
    (Conv2D(filters=8, kernel=3, padding=2, dilation=2), (3, 9, 9), (8, 9, 9)),
    (Conv3D(filters=64, kernel=3, padding=1), (3, 16, 112, 112), (64, 16, 112, 112)),  # C3D
    (MaxPool3D(size=(1, 2, 2)), (64, 16, 112, 112), (64, 16, 56, 56)),
    (Conv2DTranspose(filters=512, kernel=4), (100, 1, 1), (512, 4, 4)),  # DCGAN's generator
    (Conv2DTranspose(filters=256, kernel=4, stride=2, padding=1), (512, 4, 4), (256, 8, 8)),
    (SpatialPyramidPool(height=3), (256, 13, 13), (256 * 21,)),  # SPP-net on AlexNet's conv5
    (
        DepthwiseConv2D(kernel=3, stride=2, padding="same"),
        (64, 112, 112),
        (64, 56, 56),
    ),  # Xception
    (Conv1D(filters=256, kernel=7), (1014, 70), (1008, 256)),  # character-level CNN
    (MaxPool1D(size=3), (1008, 256), (336, 256)),
]

SMALL = list(product(range(1, 9), range(1, 4), range(1, 4), range(2), range(2)))


@pytest.mark.parametrize("layer, in_shape, out_shape", PUBLISHED, ids=str)
def test_published_sizes(layer, in_shape, out_shape):
    assert layer.out_shape(in_shape) == out_shape


@pytest.mark.parametrize("rounding", ["floor", "ceil"])
def test_every_small_case_equals_a_count(rounding):
    for n, size, stride, before, after in SMALL:
        if n + before + after < size or max(before, after) >= size:  # as layers refuse it
            continue
        sides = ((before, after), (before, after))
        padding = window_padding((n, n), size, stride, sides, rounding=rounding)
        whole = [i for i in range(0, n + before + after, stride) if i + size <= n + before + after]
        # "ceil" adds one partial window for what is left over, if it begins before the end
        more = whole[-1] + stride
        rest = whole[-1] + size < n + before + after and more < n + before
        count = len(whole) + (rounding == "ceil" and rest)
        assert windows((n, n), size, stride, padding) == (count, count)


def test_same_gives_one_window_for_each_stride():
    for n, size, stride, *_ in SMALL:
        padding = window_padding((n, n), size, stride, "same")
        assert windows((n, n), size, stride, padding)[0] == ceil(n / stride)
        before, after = padding[0]
        assert 0 <= after - before <= 1
