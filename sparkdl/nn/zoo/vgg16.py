"""VGG-16, for images (3, 224, 224)."""

from typing import Any

from sparkdl.nn.layers import Conv2D, Dense, Dropout, Layer, MaxPool2D, Output
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.zoo.arguments import check_arguments

BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


@check_arguments()
def vgg16(classes: int = 1000, **options: Any) -> NetworkConf:
    """Builds VGG-16: 138,357,544 parameters.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition
    (2014), configuration D.
    """
    layers: list[Layer] = []
    for filters, count in BLOCKS:
        layers += [
            Conv2D(filters=filters, kernel_size=3, padding=1, activation="relu")
            for _ in range(count)
        ]
        layers.append(MaxPool2D(size=2))
    for _ in range(2):
        layers += [Dense(units=4096, activation="relu"), Dropout(rate=0.5)]
    options = {"initializer": "he"} | options
    layers.append(Output(units=classes))
    return NetworkConf(input_shape=(3, 224, 224), layers=layers, **options)
