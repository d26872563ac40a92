"""The two networks of Caffe's CIFAR-10 example, for images (3, 32, 32)."""

from typing import Any

from sparkdl.nn.initializers import Normal
from sparkdl.nn.layers import LRN, Activation, AvgPool2D, Conv2D, Dense, MaxPool2D, Output
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.zoo.arguments import check_arguments

WINDOW: dict[str, Any] = {"size": 3, "stride": 2, "rounding": "ceil"}


@check_arguments()
def cifar10_quick(classes: int = 10, **options: Any) -> NetworkConf:
    """Builds Caffe's cifar10_quick: 145,578 parameters.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    Caffe's examples/cifar10/cifar10_quick_train_test.prototxt, after Krizhevsky's cuda-convnet.
    """
    layers = [
        conv(32, 1e-4),
        MaxPool2D(**WINDOW),
        Activation("relu"),
        conv(32, 0.01, "relu"),
        AvgPool2D(**WINDOW),
        conv(64, 0.01, "relu"),
        AvgPool2D(**WINDOW),
        Dense(units=64, initializer=Normal(std=0.1)),
        Output(units=classes, initializer=Normal(std=0.1)),
    ]
    return NetworkConf(input_shape=(3, 32, 32), layers=layers, **options)


@check_arguments()
def cifar10_full(classes: int = 10, **options: Any) -> NetworkConf:
    """Builds Caffe's cifar10_full: 89,578 parameters; 81 % on test images after 70,000 steps.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    Caffe's examples/cifar10/cifar10_full_train_test.prototxt, after Krizhevsky's cuda-convnet.
    """
    layers = [
        conv(32, 1e-4),
        MaxPool2D(**WINDOW),
        Activation("relu"),
        local_response_norm(),
        conv(32, 0.01, "relu"),
        AvgPool2D(**WINDOW),
        local_response_norm(),
        conv(64, 0.01, "relu"),
        AvgPool2D(**WINDOW),
        Output(units=classes, initializer=Normal(std=0.01)),
    ]
    return NetworkConf(input_shape=(3, 32, 32), layers=layers, **options)


def conv(filters: int, std: float, activation: str = "identity") -> Conv2D:
    first = Normal(std=std)
    return Conv2D(
        filters=filters, kernel_size=5, padding=2, initializer=first, activation=activation
    )


def local_response_norm() -> LRN:
    return LRN(size=3, alpha=5e-5, beta=0.75, region="within_channel")
