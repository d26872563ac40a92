"""Nets of the project's own in Caffe's format."""

from pathlib import Path

FOLDER = Path(__file__).parent
SHAPES = {  # of an example of the data
    "lenet": (1, 28, 28),
    "cifar10_quick": (3, 32, 32),
    "cifar10_full": (3, 32, 32),
    "alexnet": (3, 227, 227),
    "caffenet": (3, 227, 227),
    "googlenet": (3, 224, 224),
}


def path(name):
    return str(FOLDER / f"{name}.prototxt")
