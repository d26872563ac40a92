"""LeNet, for digits."""

from typing import Any

from sparkdl.nn.layers import Conv2D, Dense, MaxPool2D, Output
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.zoo.arguments import check_arguments


@check_arguments()
def lenet(classes: int = 10, **options: Any) -> NetworkConf:
    """Builds Caffe's LeNet: 431,080 parameters, images (1, 28, 28).

    Parameters
    ----------
    classes : int
    options : of NetworkConf (optimizer, seed ...)

    References
    ----------
    LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition
    (1998), with the sizes of Caffe's examples/mnist/lenet.prototxt.
    """
    layers = [
        Conv2D(filters=20, kernel_size=5),
        MaxPool2D(size=2),
        Conv2D(filters=50, kernel_size=5),
        MaxPool2D(size=2),
        Dense(units=500, activation="relu"),
        Output(units=classes),
    ]
    return NetworkConf(input_shape=(1, 28, 28), layers=layers, **options)
