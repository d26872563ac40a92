"""Models for the tests, and data they can learn."""

import numpy as np

from sparkdl.interop.keras.live import KerasModel
from tests.training import problems

SIDE = 6


def cnn(dropout=0.0, norm=False):
    """Returns a small network for images of 6 x 6, channels last."""
    import keras

    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(3, 3),
            *[layers.BatchNormalization()] * norm,
            layers.ReLU(),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            *[layers.Dropout(dropout)] * bool(dropout),
            layers.Dense(3),
        ]
    )


def whole_cnn():
    """Returns `cnn` with buffers and random numbers."""
    return cnn(dropout=0.3, norm=True)


def numbers(tensor):
    """Returns a tensor or variable of any backend as an array."""
    import keras

    return keras.ops.convert_to_numpy(tensor)


def model(make=cnn, **options):
    return KerasModel(make=make, input_shape=(SIDE, SIDE, 1), seed=3, **options)


class Partitions(problems.Partitions):
    """A source of images, with `counts[i]` of them in partition i."""

    def __init__(self, counts, seed=2):
        rng, total = np.random.default_rng(seed), sum(counts)
        self.counts = counts
        self.features = rng.normal(size=(total, SIDE, SIDE, 1)).astype(np.float32)
        self.labels = (self.features.reshape(total, -1)[:, :3]).argmax(1)
