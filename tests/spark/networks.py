"""Small networks and data that the tests on Spark use."""

import numpy as np

from sparkdl.data import Arrays
from sparkdl.nn import Adam, BatchNorm, Conv2D, Dense, Dropout, Momentum, NetworkConf, Output, Sgd

FEATURES, CLASSES = 6, 3


def plain(**options):
    """A network with only weights as state and no randomness."""
    layers = [Dense(units=5, activation="tanh"), Output(units=CLASSES)]
    return conf_of(layers, **{"optimizer": Sgd(learning_rate=0.2)} | options)


def rich(**options):
    """A network with buffers, slots and random masks."""
    layers = [Dense(units=8), BatchNorm(), Dropout(rate=0.3), Output(units=CLASSES)]
    return conf_of(layers, **{"optimizer": Momentum(learning_rate=0.1), "l2": 0.01} | options)


def images(**options):
    layers = [
        Conv2D(filters=3, kernel_size=2, activation="relu"),
        BatchNorm(),
        Output(units=CLASSES),
    ]
    return conf_of(
        layers, **{"input_shape": (1, 2, 3), "optimizer": Adam(learning_rate=0.01)} | options
    )


def conf_of(layers, **options):
    return NetworkConf(**{"input_shape": (FEATURES,), "layers": layers, "seed": 4} | options)


def data(n=60, seed=0):
    """Returns features (n, 6) float32 and labels (n,) that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, FEATURES)).astype(np.float32)
    return x, np.argmax(x[:, :CLASSES], axis=1)


def arrays(n=60, records_per_split=20, transform=None):
    return Arrays(*data(n), records_per_split=records_per_split, transform=transform)
