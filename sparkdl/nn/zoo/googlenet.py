"""GoogLeNet, for images (3, 224, 224)."""

from typing import Any

from sparkdl.nn.layers import (
    LRN,
    AvgPool2D,
    Conv2D,
    Dense,
    Dropout,
    GlobalPool,
    MaxPool2D,
    Merge,
    Output,
)
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.arguments import check_arguments

# name: 1x1; 3x3 reduce, 3x3; 5x5 reduce, 5x5; after pooling
MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
AUXILIARY = {"4a": "loss1", "4d": "loss2"}


@check_arguments()
def googlenet(classes: int = 1000, auxiliary: bool = True, **options: Any) -> GraphConf:
    """Builds GoogLeNet: 13,378,280 parameters, 6,998,552 without the two auxiliary outputs.

    Parameters
    ----------
    classes : int
    auxiliary : bool
        Whether two outputs half-way, each with 0.3 of the weight, help to train. All three read
        the column "labels"; predictions are those of the last.

    References
    ----------
    Szegedy et al., Going deeper with convolutions (2014), table 1; Caffe's models/bvlc_googlenet.
    """
    build = GraphBuilder(features=(3, 224, 224))
    build.add(conv(64, 7, 2), name="conv1")
    build.add(pool(), name="pool1")
    build.add(LRN(size=5, alpha=1e-4, beta=0.75), name="norm1")
    build.add(conv(64, 1), name="conv2/reduce")
    build.add(conv(192, 3), name="conv2")
    build.add(LRN(size=5, alpha=1e-4, beta=0.75), name="norm2")
    build.add(pool(), name="pool2")
    last = "pool2"
    for name, sizes in MODULES.items():
        last = inception(build, last, sizes, name)
        if auxiliary and name in AUXILIARY:
            helper(build, last, classes, AUXILIARY[name])
        if name in ("3b", "4e"):
            last = build.add(pool(), last, name=f"pool{name[0]}")
    build.add(GlobalPool(kind="avg"), last, name="pool5")
    build.add(Dropout(rate=0.4), name="dropout")
    build.add(Output(units=classes, labels="labels"), name="output")
    return build.conf(**options)


def inception(build: GraphBuilder, source: str, sizes: Any, name: str) -> str:
    """Adds four parallel paths: 1x1, 3x3, 5x5, pooling; returns the name of their Merge."""
    one, three_in, three, five_in, five, pooled = sizes
    paths = [build.add(conv(one, 1), source, name=f"{name}/1x1")]
    build.add(conv(three_in, 1), source, name=f"{name}/3x3/reduce")
    paths.append(build.add(conv(three, 3), name=f"{name}/3x3"))
    build.add(conv(five_in, 1), source, name=f"{name}/5x5/reduce")
    paths.append(build.add(conv(five, 5), name=f"{name}/5x5"))
    build.add(MaxPool2D(size=3, stride=1, padding=1), source, name=f"{name}/pool")
    paths.append(build.add(conv(pooled, 1), name=f"{name}/pool/1x1"))
    return build.add(Merge(), *paths, name=name)


def helper(build: GraphBuilder, source: str, classes: int, name: str) -> None:
    """Adds an auxiliary output."""
    build.add(AvgPool2D(size=5, stride=3, rounding="ceil"), source, name=f"{name}/pool")
    build.add(conv(128, 1), name=f"{name}/conv")
    build.add(Dense(units=1024, activation="relu"), name=f"{name}/dense")
    build.add(Dropout(rate=0.7), name=f"{name}/dropout")
    build.add(Output(units=classes, loss_weight=0.3, labels="labels"), name=name)


def conv(filters: int, kernel: int, stride: int = 1) -> Conv2D:
    return Conv2D(
        filters=filters, kernel_size=kernel, stride=stride, padding=kernel // 2, activation="relu"
    )


def pool() -> MaxPool2D:
    return MaxPool2D(size=3, stride=2, rounding="ceil")
