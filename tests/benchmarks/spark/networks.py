"""The networks of the rows: LeNet and an MLP, as in the peer."""

from sparkdl.nn import Conv2D, Dense, MaxPool2D, Nesterov, NetworkConf, Output

BATCH = 64


def network(model):
    """Returns the NetworkConf of "lenet" or "mlp" for digits of 784 pixels."""
    nesterov = Nesterov(learning_rate=0.01)
    if model == "lenet":
        layers = [
            Conv2D(filters=20, kernel_size=5),
            MaxPool2D(size=2),
            Conv2D(filters=50, kernel_size=5),
        ]
        layers += [MaxPool2D(size=2), Dense(units=500, activation="relu"), Output(units=10)]
        return NetworkConf(input_shape=(1, 28, 28), optimizer=nesterov, seed=1, layers=layers)
    layers = [Dense(units=512, activation="relu"), Dense(units=512, activation="relu")]
    return NetworkConf(
        input_shape=(784,), optimizer=nesterov, seed=1, layers=[*layers, Output(units=10)]
    )
