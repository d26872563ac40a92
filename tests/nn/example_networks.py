"""Networks shared by several tests."""

from sparkdl.nn import (
    AvgPool2D,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    GlobalPool,
    MaxPool2D,
    Momentum,
    Nesterov,
    NetworkConf,
    Output,
)


def lenet(**options):
    layers = [
        Conv2D(filters=20, kernel_size=5),
        MaxPool2D(size=2),
        Conv2D(filters=50, kernel_size=5),
        MaxPool2D(size=2),
        Dense(units=500, activation="relu"),
        Output(units=10, loss="softmax_cross_entropy"),
    ]
    return NetworkConf(
        **{
            "input_shape": (1, 28, 28),
            "optimizer": Nesterov(learning_rate=0.01),
            "l2": 5e-4,
            "seed": 1,
        }
        | {"layers": layers}
        | options
    )


def mixed(**options):
    """Returns a small network with most kinds of layers."""
    layers = [
        Conv2D(filters=4, kernel_size=3, padding="same", bias=False),
        BatchNorm(),
        AvgPool2D(size=2, rounding="ceil"),
        Conv2D(filters=6, kernel_size=2, activation="tanh", l1=0.01),
        Dropout(rate=0.4),
        GlobalPool(name="pooled"),
        Dense(units=5, activation={"type": "elu", "alpha": 0.7}, l2=0.5),
        Output(units=3),
    ]
    return NetworkConf(
        **{
            "input_shape": (2, 5, 5),
            "layers": layers,
            "optimizer": Momentum(learning_rate=0.1),
            "l2": 0.1,
        }
        | {"activation": "softplus"}
        | options
    )
