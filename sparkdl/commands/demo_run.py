"""Run configuration of the demo: LeNet on the digits inside the package."""

from sparkdl.commands.options.run_conf import DataSets, RunConf, SparkOptions
from sparkdl.data import Digits
from sparkdl.nn import ExponentialSchedule, Nesterov
from sparkdl.nn.zoo import lenet
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging

EPOCHS = 3


def network():
    """Returns Caffe's LeNet with a learning rate schedule for a few epochs."""
    rate = ExponentialSchedule(initial=0.04, gamma=0.7, per="epoch")
    return lenet(optimizer=Nesterov(learning_rate=rate), l2=5e-4, seed=1)


def run(output, master=None, workers=2, epochs=EPOCHS):
    """Returns the RunConf of the demo; without a master, `workers` executors on this machine."""
    master = f"local-cluster[{workers},1,1024]" if master is None else master
    return RunConf(
        network=network(),
        training=ParameterAveraging(workers=workers),
        data=DataSets(train=Digits(part="train"), validation=Digits(part="test")),
        epochs=epochs,
        output=output,
        spark=SparkOptions(master=master, name="sparkdl demo"),
    )
