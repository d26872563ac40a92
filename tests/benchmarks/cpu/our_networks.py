"""The networks in sparkdl, most of them from its zoo."""

from dataclasses import replace
from functools import partial

from sparkdl.nn import Adam, Conv2D, Dense, MaxPool2D, Momentum, NetworkConf, Output, zoo
from tests.benchmarks.cpu import our_second_draw, our_untuned
from tests.benchmarks.cpu.workloads import MOMENTUM, RATE, WORKLOADS

OPTIMIZERS = {
    "momentum": Momentum(learning_rate=RATE, momentum=MOMENTUM),
    "adam": Adam(learning_rate=RATE),
}


def cifar_net():
    layers = []
    for filters in (64, 128, 256):
        layers += [Conv2D(filters=filters, kernel_size=3, padding=1, activation="relu")]
        layers += [MaxPool2D(size=2)]
    return NetworkConf(input_shape=(3, 32, 32), layers=[*layers, Output(units=10)])


def mlp():
    layers = [Dense(units=1024, activation="relu"), Dense(units=1024, activation="relu")]
    return NetworkConf(input_shape=(784,), layers=[*layers, Output(units=10)])


def adam():
    """Returns one layer with as many parameters as the optimizer updates."""
    workload = WORKLOADS["adam"]
    return NetworkConf(input_shape=workload.shape, layers=[Output(units=workload.classes)])


OWN = {"cifar_net": cifar_net, "mlp": mlp, "adam": adam}
OWN |= our_untuned.NETWORKS | our_second_draw.NETWORKS
OWN |= {"googlenet": partial(zoo.googlenet, auxiliary=False)}


def configuration(workload):
    """Returns a workload's network with its optimizer; raises SystemExit if the zoo lacks it."""
    make = OWN.get(workload.network) or getattr(zoo, workload.network, None)
    if make is None:
        raise SystemExit("not built yet")
    return replace(make(), optimizer=OPTIMIZERS[workload.optimizer], seed=1)
