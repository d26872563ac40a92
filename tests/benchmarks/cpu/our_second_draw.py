"""sparkdl's side of a second draw of networks that were not used for tuning."""

from sparkdl.nn import (
    GRU,
    LSTM,
    Activation,
    BatchNorm,
    Bidirectional,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Dense,
    DepthwiseConv2D,
    Dropout,
    ElementWise,
    EmbeddingSequence,
    GlobalPool,
    LastTimeStep,
    LayerNorm,
    MaxPool1D,
    MaxPool2D,
    Merge,
    Output,
    Permute,
    PositionEmbedding,
    Reshape,
    RnnOutput,
)
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.transformer_blocks import Blocks
from tests.benchmarks.cpu.our_untuned import stack
from tests.benchmarks.cpu.workloads import SECOND_DRAW


def graph(name):
    return GraphBuilder(features=SECOND_DRAW[name]["shape"])


def end(build, name):
    build.add(Output(units=SECOND_DRAW[name]["classes"]))
    return build.conf()


def add(build, *layers):
    """Adds layers one after the other; returns the last one's name."""
    return [build.add(layer) for layer in layers][-1]


def join(build, layer, *sources):
    return build.add(layer, *sources)


def residual_mlp():
    build = graph("residual_mlp")
    last = add(build, Dense(units=192))
    for _ in range(3):
        dense = Dense(units=384, activation="relu"), Dropout(rate=0.1), Dense(units=192)
        branch = add(build, LayerNorm(), *dense)
        last = join(build, ElementWise(operation="add"), last, branch)
    return end(build, "residual_mlp")


def funnel_mlp():
    return stack("funnel_mlp", *(Dense(units=n, activation="gelu") for n in (1024, 1024, 512)))


def selu_mlp():
    return stack("selu_mlp", *(Dense(units=128, activation="selu") for _ in range(6)))


def large_batch_mlp():
    return stack("large_batch_mlp", *(Dense(units=64, activation="relu") for _ in range(2)))


def u_net():
    build = graph("u_net")
    first = add(build, *convolution(16), *convolution(16))
    second = add(build, MaxPool2D(size=2), *convolution(32), *convolution(32))
    add(build, MaxPool2D(size=2), *convolution(64), *convolution(64))
    for filters, kept in ((32, second), (16, first)):
        up = add(build, Conv2DTranspose(filters=filters, kernel_size=2, stride=2))
        join(build, Merge(), up, kept)
        add(build, *convolution(filters), *convolution(filters))
    add(build, GlobalPool(kind="avg"))
    return end(build, "u_net")


def convolution(filters):
    return [Conv2D(filters=filters, kernel_size=3, padding=1, activation="relu")]


def inverted_cnn():
    build = graph("inverted_cnn")
    add(build, Conv2D(filters=16, kernel_size=3, stride=2, padding=1, bias=False), BatchNorm())
    channels, last = 16, add(build, Activation("swish"))
    for filters, stride in ((24, 2), (24, 1), (40, 2), (40, 1)):
        widen = Conv2D(filters=4 * channels, kernel_size=1, bias=False)
        each = DepthwiseConv2D(kernel_size=3, stride=stride, padding=1, bias=False)
        layers = [widen, BatchNorm(), Activation("swish"), each, BatchNorm(), Activation("swish")]
        build.add(layers[0], last)
        branch = add(build, *layers[1:], Conv2D(filters=filters, kernel_size=1, bias=False))
        branch = add(build, BatchNorm())
        shortcut = stride == 1 and channels == filters
        last = join(build, ElementWise(operation="add"), last, branch) if shortcut else branch
        channels = filters
    add(build, GlobalPool(kind="avg"))
    return end(build, "inverted_cnn")


def dense_cnn():
    build = graph("dense_cnn")
    last = add(build, Conv2D(filters=24, kernel_size=3, padding=1, bias=False))
    for block in range(2):
        for _ in range(4):
            new = Conv2D(filters=12, kernel_size=3, padding=1, bias=False)
            new = add(build, BatchNorm(), Activation("relu"), new)
            last = join(build, Merge(), last, new)
        if block == 0:
            last = add(build, BatchNorm(), Activation("relu"), MaxPool2D(size=2))
    add(build, BatchNorm(), Activation("relu"), GlobalPool(kind="avg"))
    return end(build, "dense_cnn")


def plain_cnn():
    layers = []
    for filters in (32, 64, 128):
        layers += [Conv2D(filters=filters, kernel_size=3, padding=1, activation="relu")]
        layers += [MaxPool2D(size=2)]
    return stack("plain_cnn", *layers, Dense(units=64, activation="relu"))


def text_cnn():
    row = SECOND_DRAW["text_cnn"]
    build = graph("text_cnn")
    words = add(build, EmbeddingSequence(vocabulary_size=row["vocabulary"], units=128))
    pools = []
    for size in (3, 4, 5):
        build.add(Conv1D(filters=100, kernel_size=size, activation="relu"), words)
        pools.append(add(build, GlobalPool(kind="max")))
    join(build, Merge(), *pools)
    add(build, Dropout(rate=0.5))
    return end(build, "text_cnn")


def cnn_lstm():
    words = EmbeddingSequence(vocabulary_size=SECOND_DRAW["cnn_lstm"]["vocabulary"], units=64)
    signal = Conv1D(filters=64, kernel_size=5, activation="relu"), MaxPool1D(size=4)
    return stack("cnn_lstm", words, *signal, LSTM(units=70), LastTimeStep())


def deep_gru():
    return stack("deep_gru", GRU(units=128), GRU(units=128), LastTimeStep())


def tagger_lstm():
    row = SECOND_DRAW["tagger_lstm"]
    words = EmbeddingSequence(vocabulary_size=row["vocabulary"], units=100)
    return stack("tagger_lstm", words, Bidirectional(layer=LSTM(units=100)), output=RnnOutput)


def small_vit():
    build = graph("small_vit")
    patches = Conv2D(filters=128, kernel_size=4, stride=4)
    add(build, patches, Reshape(shape=(128, 64)), Permute(order=(1, 0)), PositionEmbedding())
    Blocks(width=128, heads=4).add_to(build, 4)
    add(build, LayerNorm(), GlobalPool(kind="avg"))
    return end(build, "small_vit")


NETWORKS = {name: globals()[name] for name in SECOND_DRAW}
