"""Error messages of layer options."""

import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn.layers import (
    Activation,
    Affine,
    ArgMax,
    AvgPool2D,
    AvgPool3D,
    BatchNorm,
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    Cropping2D,
    Cropping3D,
    Dense,
    DepthToSpace,
    DepthwiseConv2D,
    Dropout,
    GlobalPool,
    LocallyConnected2D,
    LpPool2D,
    MaxPool1D,
    MaxPool2D,
    Output,
    RepeatVector,
    Reshape,
    SeparableConv2D,
    SpaceToDepth,
    SpatialPyramidPool,
    UpSampling2D,
    ZeroPadding1D,
)
from tests.nn.support import label

PADDING = "an integer >= 0, a pair of them, ((top, bottom), (left, right)), or 'same'"
SIZES = "an integer >= 1 or a pair of them"
PADDING1 = "an integer >= 0, (before, after), or 'same'"
PADDING3 = "an integer >= 0, three of them, three (before, after), or 'same'"

OPTIONS = [
    (lambda: Dense(units=0), "Dense.units must be an integer >= 1, got 0"),
    (lambda: Dense(units=2.0), "Dense.units must be an integer >= 1, got 2.0"),
    (lambda: Dense(units=True), "Dense.units must be an integer >= 1, got True"),
    (lambda: Dense(units=1, bias=1), "Dense.bias must be True or False, got 1"),
    (lambda: Dense(units=1, l1=-0.1), "Dense.l1 must be a number >= 0 or None, got -0.1"),
    (lambda: Dense(units=1, l2=float("nan")), "Dense.l2 must be a number >= 0 or None, got nan"),
    (lambda: Dense(units=1, name=""), "must be a text that is not empty or None, got ''"),
    (lambda: Dense(units=1, name=3), "Dense.name must be a text that is not empty or None, got 3"),
    (lambda: Dense(units=1, activation="rellu"), "got 'rellu'; did you mean 'relu'?"),
    (lambda: Output(units=-1), "Output.units must be an integer >= 1, got -1"),
    (lambda: Output(units=1, loss="focal"), "Output.loss must be one of "),
    (lambda: Conv2D(filters=0, kernel_size=1), "Conv2D.filters must be an integer >= 1, got 0"),
    (lambda: Conv2D(filters=1, kernel_size=0), f"Conv2D.kernel_size must be {SIZES}, got 0"),
    (
        lambda: Conv2D(filters=1, kernel_size=(1, 2, 3)),
        f"Conv2D.kernel_size must be {SIZES}, got (1, 2, 3)",
    ),
    (lambda: Conv2D(filters=1, kernel_size=1, stride=-1), f"Conv2D.stride must be {SIZES}, got -1"),
    (lambda: Conv2D(filters=1, kernel_size=1, dilation="2"), f"Conv2D.dilation must be {SIZES}"),
    (
        lambda: Conv2D(filters=1, kernel_size=1, padding=-1),
        f"Conv2D.padding must be {PADDING}, got -1",
    ),
    (lambda: Conv2D(filters=1, kernel_size=1, padding="valid"), f"must be {PADDING}, got 'valid'"),
    (
        lambda: Conv2D(filters=1, kernel_size=1, padding=((1, 2), 3)),
        f"must be {PADDING}, got ((1, 2)",
    ),
    (
        lambda: Conv2D(filters=3, kernel_size=1, groups=2),
        "Conv2D.groups must be an integer >= 1 that divides filters (3), got 2",
    ),
    (
        lambda: Conv1D(filters=1, kernel_size=(2,)),
        "Conv1D.kernel_size must be an integer >= 1, got (2,)",
    ),
    (
        lambda: Conv1D(filters=1, kernel_size=1, padding=(1, 2, 3)),
        f"must be {PADDING1} or 'causal'",
    ),
    (lambda: Conv1D(filters=1, kernel_size=1, padding="full"), f"must be {PADDING1} or 'causal'"),
    (
        lambda: Conv3D(filters=1, kernel_size=(1, 2)),
        "must be an integer >= 1 or three of them, got (1",
    ),
    (lambda: Conv3D(filters=1, kernel_size=1, padding=((1, 2),) * 2), f"must be {PADDING3}, got"),
    (
        lambda: Conv2D(filters=1, kernel_size=1, padding="causal"),
        f"must be {PADDING}, got 'causal'",
    ),
    (lambda: MaxPool1D(size=2, padding="causal"), f"must be {PADDING1}, got 'causal'"),
    (
        lambda: Conv2DTranspose(filters=1, kernel_size=3, stride=(2, 3), output_padding=(1, 3)),
        "Conv2DTranspose.output_padding must be at least 0, below the stride ((2, 3)), got (1, 3)",
    ),
    (
        lambda: Conv2DTranspose(filters=1, kernel_size=3, output_padding=1),
        "below the stride (1), got 1",
    ),
    (
        lambda: Conv1DTranspose(
            filters=1, kernel_size=3, stride=2, padding="same", output_padding=1
        ),
        "Conv1DTranspose.output_padding must be 0 with 'same', got 1",
    ),
    (
        lambda: Conv1DTranspose(filters=1, kernel_size=3, padding="causal"),
        f"Conv1DTranspose.padding must be {PADDING1}, got 'causal'",
    ),
    (
        lambda: Conv3DTranspose(filters=3, kernel_size=1, groups=2),
        "that divides filters (3), got 2",
    ),
    (
        lambda: DepthwiseConv2D(kernel_size=3, multiplier=0),
        "multiplier must be an integer >= 1, got 0",
    ),
    (
        lambda: SeparableConv2D(filters=0, kernel_size=3),
        "SeparableConv2D.filters must be an integer >=",
    ),
    (lambda: LpPool2D(size=2, p=0.5), "LpPool2D.p must be a number >= 1, got 0.5"),
    (lambda: GlobalPool(kind="lp", p=0), "GlobalPool.p must be a number >= 1, got 0"),
    (lambda: UpSampling2D(size=0), f"UpSampling2D.size must be {SIZES}, got 0"),
    (lambda: UpSampling2D(interpolation="cubic"), "must be 'nearest' or 'bilinear', got 'cubic'"),
    (lambda: ZeroPadding1D(amount=-1), "must be an integer >= 0 or (before, after), got -1"),
    (
        lambda: Cropping2D(amount="same"),
        "Cropping2D.amount must be an integer >= 0, a pair of them or ((top, bottom), (left, right",
    ),
    (lambda: Cropping3D(amount=(1, 2)), "an integer >= 0, three of them or three (before, after)"),
    (lambda: SpaceToDepth(block=0), "SpaceToDepth.block must be an integer >= 1, got 0"),
    (lambda: SpatialPyramidPool(height=0), "SpatialPyramidPool.height must be an integer >= 1"),
    (lambda: SpatialPyramidPool(height=1, kind="lp"), "kind must be 'max' or 'avg', got 'lp'"),
    (lambda: MaxPool2D(size=2, dilation=0), f"MaxPool2D.dilation must be {SIZES}, got 0"),
    (lambda: MaxPool2D(size=0), f"MaxPool2D.size must be {SIZES}, got 0"),
    (lambda: AvgPool2D(size=2, stride=0), f"AvgPool2D.stride must be {SIZES} or None, got 0"),
    (lambda: MaxPool2D(size=2, padding=2), "MaxPool2D.padding must be smaller than the size (2)"),
    (lambda: MaxPool2D(size=(3, 2), padding=(1, 2)), "must be smaller than the size ((3, 2))"),
    (lambda: MaxPool2D(size=2, padding=1.5), f"MaxPool2D.padding must be {PADDING}, got 1.5"),
    (lambda: MaxPool2D(size=2, rounding="up"), "rounding must be 'floor' or 'ceil', got 'up'"),
    (lambda: AvgPool2D(size=2, count_padding=1), "count_padding must be True or False, got 1"),
    (lambda: GlobalPool(kind="mean"), "GlobalPool.kind must be 'avg', 'max', 'sum' or 'lp', got"),
    (lambda: BatchNorm(momentum=1), "BatchNorm.momentum must be a number in [0, 1), got 1"),
    (lambda: BatchNorm(scale="no"), "BatchNorm.scale must be True or False, got 'no'"),
    (lambda: BatchNorm(variance="n"), "BatchNorm.variance must be 'biased' or 'unbiased', got 'n'"),
    (lambda: BatchNorm(epsilon=0), "BatchNorm.epsilon must be a number above 0, got 0"),
    (lambda: Dropout(rate=1), "Dropout.rate must be a number in [0, 1), got 1"),
    (lambda: Dropout(rate=-0.5), "Dropout.rate must be a number in [0, 1), got -0.5"),
    (lambda: Dropout(rate=float("nan")), "Dropout.rate must be a number in [0, 1), got nan"),
    (lambda: Dense(units=10**12), "Dense.units must be an integer >= 1, got 1000000000000; the"),
    (
        lambda: Conv2D(filters=1, kernel_size=10**30),
        f"Conv2D.kernel_size must be {SIZES}, got 1{'0' * 30}",
    ),
    (
        lambda: Conv2D(filters=1, kernel_size=(3, 10**10)),
        "Conv2D.kernel_size[1] must be an integer >= 1",
    ),
    (
        lambda: Conv2D(filters=1, kernel_size=1, padding=10**30),
        f"Conv2D.padding must be {PADDING}, got",
    ),
    (lambda: MaxPool2D(size=2, padding=10**30), f"MaxPool2D.padding must be {PADDING}, got 1"),
    (lambda: Affine(axis="1"), "Affine.axis must be an integer >= 0 or None, got '1'; write it"),
    (lambda: Affine(axes=True), "Affine.axes must be an integer >= 0, got True"),
    (lambda: ArgMax(values=1), "ArgMax.values must be True or False, got 1"),
    (lambda: RepeatVector(count=10**12), "RepeatVector.count must be an integer >= 1, got 1000000"),
    (lambda: Reshape(shape=(2, 0)), "Reshape.shape must be a tuple of integers >= 1, one of which"),
    (lambda: Activation(None), "Activation.function must be one of "),
]

SHAPES = [
    (
        Dense(units=3),
        (1, 28, 28),
        "sequences of them (steps, n), got (1, 28, 28); put Flatten before it",
    ),
    (Output(units=3), (1, 28, 28), "Output takes rows of features (n,) or sequences of them"),
    (
        Conv2D(filters=1, kernel_size=1),
        (500,),
        "Conv2D takes images (channels, height, width), got (5",
    ),
    (MaxPool2D(size=2), (5,), "MaxPool2D takes images (channels, height, width), got (5,)"),
    (GlobalPool(), (5,), "GlobalPool takes sequences, images or volumes, got (5,)"),
    (BatchNorm(), (), "BatchNorm takes rows (n,), sequences (steps, n), images (channels, height"),
    (
        Conv2D(filters=1, kernel_size=5),
        (1, 4, 9),
        "a window of (5, 5) does not fit into images of (4",
    ),
    (Conv2D(filters=1, kernel_size=3, dilation=2), (1, 4, 4), "a window of (5, 5) does not fit"),
    (AvgPool2D(size=(2, 7)), (1, 6, 6), "a window of (2, 7) does not fit into images of (6, 6)"),
    (Conv1D(filters=1, kernel_size=1), (5,), "Conv1D takes sequences (steps, features), got (5,)"),
    (
        Conv1D(filters=1, kernel_size=4),
        (3, 8),
        "a window of (4,) does not fit into sequences of (3,)",
    ),
    (
        Conv3D(filters=1, kernel_size=1),
        (1, 4, 4),
        "Conv3D takes volumes (channels, depth, height, widt",
    ),
    (AvgPool3D(size=3), (1, 2, 4, 4), "a window of (3, 3, 3) does not fit into volumes of (2, 4, "),
    (
        Conv2DTranspose(filters=2, kernel_size=2, groups=2),
        (3, 4, 4),
        "Conv2DTranspose in 2 groups need",
    ),
    (
        Conv2DTranspose(filters=2, kernel_size=1, padding=2),
        (3, 4, 4),
        "Conv2DTranspose of (3, 4, 4) with padding 2 leaves nothing",
    ),
    (Cropping2D(amount=2), (1, 4, 8), "Cropping2D of (1, 4, 8) by 2 leaves nothing"),
    (SpaceToDepth(), (1, 4, 5), "SpaceToDepth needs whole blocks of 2, got (1, 4, 5)"),
    (DepthToSpace(), (6, 4, 5), "DepthToSpace needs channels for blocks of 2, got (6, 4, 5)"),
    (
        SpatialPyramidPool(height=3),
        (1, 5, 8),
        "SpatialPyramidPool cannot divide (1, 5, 8) into 4 bins a side",
    ),
    (LocallyConnected2D(filters=1, kernel_size=3), (1, 2, 4), "a window of (3, 3) does not fit"),
    (
        DepthwiseConv2D(kernel_size=3),
        (5, 4),
        "DepthwiseConv2D takes images (channels, height, width)",
    ),
    (
        Conv2D(filters=4, kernel_size=1, groups=2),
        (3, 4, 4),
        "Conv2D in 2 groups needs channels that fall into them, got (3, 4, 4)",
    ),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=label)
def test_refuses_options(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("layer, in_shape, message", SHAPES, ids=str)
def test_refuses_shapes(layer, in_shape, message):
    with pytest.raises(ShapeError) as caught:
        layer.out_shape(in_shape)
    assert message in str(caught.value)
