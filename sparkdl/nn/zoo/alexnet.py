"""AlexNet and its relative CaffeNet, for images (3, 227, 227)."""

from collections.abc import Callable
from typing import Any

from sparkdl.nn.initializers import Constant, Normal
from sparkdl.nn.layers import LRN, Conv2D, Dense, Dropout, Layer, MaxPool2D, Output
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.zoo.arguments import check_arguments


@check_arguments()
def alexnet(classes: int = 1000, **options: Any) -> NetworkConf:
    """Builds AlexNet: 60,965,224 parameters; some convolutions have two groups of filters.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    Krizhevsky, Sutskever and Hinton, ImageNet classification with deep convolutional neural
    networks (2012); Caffe's models/bvlc_alexnet. Normalization comes before pooling.
    """
    return conf(classes, lambda: [norm(), pool()], options)


@check_arguments()
def caffenet(classes: int = 1000, **options: Any) -> NetworkConf:
    """Builds CaffeNet: 60,965,224 parameters; it pools before it normalizes, which saves memory.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    Caffe's models/bvlc_reference_caffenet.
    """
    return conf(classes, lambda: [pool(), norm()], options)


def conf(classes: int, between: Callable[[], list[Layer]], options: dict[str, Any]) -> NetworkConf:
    layers = [
        conv(96, 11, 0, 1, stride=4),
        *between(),
        conv(256, 5, 2, 2, bias=0.1),
        *between(),
        conv(384, 3, 1, 1),
        conv(384, 3, 1, 2, bias=0.1),
        conv(256, 3, 1, 2, bias=0.1),
        pool(),
        *dense(4096),
        *dense(4096),
        Output(units=classes, initializer=Normal(std=0.01)),
    ]
    return NetworkConf(input_shape=(3, 227, 227), layers=layers, **options)


def conv(
    filters: int, kernel: int, padding: int, groups: int, stride: int = 1, bias: float = 0.0
) -> Conv2D:
    return Conv2D(
        filters=filters,
        kernel_size=kernel,
        stride=stride,
        padding=padding,
        groups=groups,
        activation="relu",
        initializer=Normal(std=0.01),
        bias_initializer=Constant(value=bias),
    )


def norm() -> LRN:
    return LRN(size=5, alpha=1e-4, beta=0.75)


def pool() -> MaxPool2D:
    return MaxPool2D(size=3, stride=2, rounding="ceil")


def dense(units: int) -> list[Layer]:
    first, bias = Normal(std=0.005), Constant(value=0.1)
    layer = Dense(units=units, activation="relu", initializer=first, bias_initializer=bias)
    return [layer, Dropout(rate=0.5)]
