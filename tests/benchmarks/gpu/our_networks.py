"""The networks in sparkdl."""

from dataclasses import replace
from functools import partial

from sparkdl.nn import LSTM, Adam, Momentum, NetworkConf, Output, RnnOutput, zoo
from tests.benchmarks.gpu.workloads import MOMENTUM, RATE

OPTIMIZERS = {
    "momentum": Momentum(learning_rate=RATE, momentum=MOMENTUM),
    "adam": Adam(learning_rate=RATE),
}
NETWORKS = {
    "resnet50": zoo.resnet50,
    "alexnet": zoo.alexnet,
    "googlenet": partial(zoo.googlenet, auxiliary=False),
    "lenet": zoo.lenet,
    "gpt2": partial(zoo.transformer, symbols=50_257, steps=1024, width=768, depth=12, heads=12),
}


def configuration(workload):
    """Returns a workload's network with its optimizer."""
    conf = NETWORKS[workload.network]() if workload.network in NETWORKS else own(workload)
    return replace(conf, optimizer=OPTIMIZERS[workload.optimizer], dtype=workload.dtype, seed=1)


def own(workload):
    """Returns two LSTM layers as wide as their input, or one layer for the optimizer alone."""
    if workload.network == "lstm":
        layers = [LSTM(units=workload.shape[1]) for _ in range(2)]
        layers.append(RnnOutput(units=workload.classes))
    else:
        layers = [Output(units=workload.classes)]
    return NetworkConf(input_shape=workload.shape, layers=layers)
