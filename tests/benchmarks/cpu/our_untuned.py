"""sparkdl's side of the networks that were not used for tuning."""

from sparkdl.nn import (
    GRU,
    LSTM,
    Activation,
    BatchNorm,
    Bidirectional,
    Conv1D,
    Conv2D,
    Dense,
    DepthwiseConv2D,
    Dropout,
    ElementWise,
    EmbeddingSequence,
    GlobalPool,
    MaxPool1D,
    MaxPool2D,
    NetworkConf,
    Output,
    PositionEmbedding,
)
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.transformer_blocks import Blocks
from tests.benchmarks.cpu.workloads import UNTUNED, WORKLOADS


def stack(name, *layers, output=Output):
    """Returns the layers, and an output for a workload's classes."""
    workload = WORKLOADS[name]
    return NetworkConf(input_shape=workload.shape, layers=[*layers, output(units=workload.classes)])


def table_mlp():
    return stack("table_mlp", *(Dense(units=n, activation="relu") for n in (256, 256, 128)))


def small_mlp():
    return stack("small_mlp", *(Dense(units=n, activation="tanh") for n in (64, 32)))


def wide_mlp():
    return stack("wide_mlp", *(Dense(units=2048, activation="relu") for _ in range(2)))


def norm_mlp():
    layers = []
    for units in (512, 256, 128):
        layers += [Dense(units=units), BatchNorm(), Activation("relu"), Dropout(rate=0.3)]
    return stack("norm_mlp", *layers)


def norm_cnn():
    layers = []
    for filters in (32, 64, 128):
        for _ in range(2):
            layers += normed(Conv2D(filters=filters, kernel_size=3, padding=1, bias=False))
        layers.append(MaxPool2D(size=2))
    return stack("norm_cnn", *layers, Dense(units=128, activation="relu"), Dropout(rate=0.5))


def normed(layer):
    return [layer, BatchNorm(), Activation("relu")]


def small_resnet():
    build = GraphBuilder(features=UNTUNED["small_resnet"]["shape"])
    add(build, *normed(Conv2D(filters=16, kernel_size=3, padding=1, bias=False)))
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        source = build.last
        first = Conv2D(filters=filters, kernel_size=3, stride=stride, padding=1, bias=False)
        second = Conv2D(filters=filters, kernel_size=3, padding=1, bias=False)
        add(build, *normed(first), second, BatchNorm())
        last = build.last
        if stride > 1:
            shortcut = Conv2D(filters=filters, kernel_size=1, stride=stride, bias=False)
            source = build.add(shortcut, source)
            source = build.add(BatchNorm(), source)
        build.add(ElementWise(operation="add"), last, source)
        build.add(Activation("relu"))
    add(build, GlobalPool(kind="avg"), Output(units=UNTUNED["small_resnet"]["classes"]))
    return build.conf(initializer="he")


def add(build, *layers):
    for layer in layers:
        build.add(layer)


def depthwise_cnn():
    layers = normed(Conv2D(filters=32, kernel_size=3, stride=2, padding=1, bias=False))
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2)):
        layers += normed(DepthwiseConv2D(kernel_size=3, stride=stride, padding=1, bias=False))
        layers += normed(Conv2D(filters=filters, kernel_size=1, bias=False))
    return stack("depthwise_cnn", *layers, GlobalPool(kind="avg"))


def signal_cnn():
    layers = []
    for filters in (32, 64, 128):
        layers += [Conv1D(filters=filters, kernel_size=5, padding=2, activation="relu")]
        layers += [MaxPool1D(size=2)]
    return stack("signal_cnn", *layers, GlobalPool(kind="avg"))


def dilated_cnn():
    layers = [
        Conv1D(filters=64, kernel_size=3, dilation=n, padding=n, activation="relu")
        for n in (1, 2, 4, 8)
    ]
    return stack("dilated_cnn", *layers, GlobalPool(kind="max"))


def text_gru():
    words = EmbeddingSequence(vocabulary_size=UNTUNED["text_gru"]["vocabulary"], units=64)
    layers = [words, Bidirectional(layer=GRU(units=64)), GlobalPool(kind="max")]
    return stack("text_gru", *layers)


def sensor_lstm():
    recurrent = (Bidirectional(layer=LSTM(units=96)) for _ in range(2))
    return stack("sensor_lstm", *recurrent, GlobalPool(kind="avg"))


def text_attention():
    row = UNTUNED["text_attention"]
    build = GraphBuilder(features=row["shape"])
    words = EmbeddingSequence(vocabulary_size=row["vocabulary"], units=128)
    add(build, words, PositionEmbedding())
    Blocks(width=128, heads=4, hidden=256, norm_first=False).add_to(build, 2)
    add(build, GlobalPool(kind="avg"), Output(units=row["classes"]))
    return build.conf()


NETWORKS = {name: globals()[name] for name in UNTUNED}
