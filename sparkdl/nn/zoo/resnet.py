"""Residual networks, for images (3, 224, 224)."""

from collections.abc import Callable
from typing import Any

from sparkdl.nn.layers import (
    Activation,
    BatchNorm,
    Conv2D,
    ElementWise,
    GlobalPool,
    MaxPool2D,
    Output,
)
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.arguments import check_arguments

WIDTHS = (64, 128, 256, 512)


@check_arguments()
def resnet18(classes: int = 1000, **options: Any) -> GraphConf:
    """Builds ResNet-18: 11,689,512 parameters.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    He, Zhang, Ren and Sun, Deep residual learning for image recognition (2015), table 1.
    """
    return resnet(basic, 1, (2, 2, 2, 2), classes, options)


@check_arguments()
def resnet50(classes: int = 1000, **options: Any) -> GraphConf:
    """Builds ResNet-50: 25,557,032 parameters. The stride of a block lies in its 3x3 convolution,
    as in torchvision.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    He, Zhang, Ren and Sun, Deep residual learning for image recognition (2015), table 1; Goyal et
    al., Accurate, large minibatch SGD (2017), section 5.1, for where the stride lies.
    """
    return resnet(bottleneck, 4, (3, 4, 6, 3), classes, options)


def resnet(
    block: Callable[..., str],
    expansion: int,
    counts: tuple[int, ...],
    classes: int,
    options: dict[str, Any],
) -> GraphConf:
    build = GraphBuilder(features=(3, 224, 224))
    add_convolution(build, "features", 64, 7, 2, "stem")
    build.add(MaxPool2D(size=3, stride=2, padding=1), name="stem/pool")
    channels = 64
    for stage, (width, count) in enumerate(zip(WIDTHS, counts, strict=True)):
        for number in range(count):
            name, stride = f"stage{stage + 1}/{number + 1}", 2 if stage and not number else 1
            shortcut = build.last
            last = block(build, shortcut, width, stride, name)
            if stride > 1 or channels != width * expansion:
                channels = width * expansion
                path = f"{name}/shortcut"
                shortcut = add_convolution(build, shortcut, channels, 1, stride, path, relu=False)
            build.add(ElementWise(operation="add"), last, shortcut, name=f"{name}/add")
            build.add(Activation("relu"), name=f"{name}/relu")
    build.add(GlobalPool(kind="avg"), name="pool")
    build.add(Output(units=classes), name="output")
    return build.conf(**({"initializer": "he"} | options))


def basic(build: GraphBuilder, source: str, width: int, stride: int, name: str) -> str:
    """Adds two 3x3 convolutions; returns the name of the second."""
    first = add_convolution(build, source, width, 3, stride, f"{name}/1")
    return add_convolution(build, first, width, 3, 1, f"{name}/2", relu=False)


def bottleneck(build: GraphBuilder, source: str, width: int, stride: int, name: str) -> str:
    """Adds 1x1 down, 3x3, 1x1 up to four times the width; returns the name of the last."""
    first = add_convolution(build, source, width, 1, 1, f"{name}/1")
    second = add_convolution(build, first, width, 3, stride, f"{name}/2")
    return add_convolution(build, second, 4 * width, 1, 1, f"{name}/3", relu=False)


def add_convolution(
    build: GraphBuilder,
    source: str,
    filters: int,
    kernel: int,
    stride: int,
    name: str,
    relu: bool = True,
) -> str:
    """Adds a convolution, batch normalization and by default ReLU; returns the name of the last."""
    padding = kernel // 2
    layer = Conv2D(filters=filters, kernel_size=kernel, stride=stride, padding=padding, bias=False)
    build.add(layer, source, name=f"{name}/conv")
    last = build.add(BatchNorm(), name=f"{name}/norm")
    return build.add(Activation("relu"), name=f"{name}/relu") if relu else last
