"""The run of the demo: LeNet on the digits inside the package."""

from sparkdl.commands.data_conf import Digits
from sparkdl.commands.run_conf import DataSets, RunConf, SparkOptions
from sparkdl.nn import Conv2D, Dense, Exponential, MaxPool2D, Nesterov, NetworkConf, Output
from sparkdl.training.averaging import ParameterAveraging

EPOCHS = 6


def network():
    """Caffe's LeNet for digits.

    References
    ----------
    LeCun, Bottou, Bengio and Haffner, Gradient-based learning applied to document recognition
    (1998), with the sizes of Caffe's examples/mnist/lenet.prototxt.
    """
    rate = Exponential(initial=0.03, gamma=0.7, per="epoch")
    layers = [
        Conv2D(filters=20, kernel=5),
        MaxPool2D(size=2),
        Conv2D(filters=50, kernel=5),
        MaxPool2D(size=2),
        Dense(units=500, activation="relu"),
        Output(units=10, loss="softmax_cross_entropy"),
    ]
    options = {"updater": Nesterov(rate=rate), "l2": 5e-4, "seed": 1}
    return NetworkConf(input_shape=(1, 28, 28), layers=layers, **options)


def run(output, master=None, workers=2, epochs=EPOCHS):
    """The RunConf of the demo; without a master, `workers` executors on this machine."""
    master = master or f"local-cluster[{workers},1,1024]"
    return RunConf(
        network=network(),
        training=ParameterAveraging(workers=workers),
        data=DataSets(train=Digits(part="train"), validation=Digits(part="test")),
        epochs=epochs,
        output=output,
        spark=SparkOptions(
            master=master or f"local-cluster[{workers},1,1024]", name="sparkdl demo"
        ),
    )
