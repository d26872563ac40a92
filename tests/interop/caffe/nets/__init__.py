"""The project's own nets in Caffe's format."""

from pathlib import Path

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[3] / "conf" / "caffe"
SHAPES = {  # of one example of the data
    "lenet": (1, 28, 28),
    "cifar10_quick": (3, 32, 32),
    "cifar10_full": (3, 32, 32),
    "alexnet": (3, 227, 227),
    "caffenet": (3, 227, 227),
    "googlenet": (3, 224, 224),
}


def path(name):
    here = FOLDER / f"{name}.prototxt"
    return str(here if here.exists() else EXAMPLES / f"{name}_train_test.prototxt")
