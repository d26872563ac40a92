"""Inception-v3, for images (3, 299, 299)."""

from typing import Any

from sparkdl.nn.layers import (
    Activation,
    AvgPool2D,
    BatchNorm,
    Conv2D,
    Dropout,
    GlobalPool,
    MaxPool2D,
    Merge,
    Output,
)
from sparkdl.nn.networks.graph import GraphConf
from sparkdl.nn.networks.graph_builder import GraphBuilder
from sparkdl.nn.zoo.arguments import check_arguments

WIDE, TALL = (1, 7), (7, 1)


@check_arguments()
def inception_v3(classes: int = 1000, **options: Any) -> GraphConf:
    """Builds Inception v3: 23,834,568 parameters; without the auxiliary output.

    Parameters
    ----------
    classes : int
        Units of the output.

    References
    ----------
    Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, Rethinking the inception architecture for computer
    vision (2015); the sizes of the published TensorFlow model, as torchvision has them.
    """
    build = GraphBuilder(features=(3, 299, 299))
    stem(build)
    for number, pooled in enumerate((32, 64, 64)):
        fives(build, build.last, pooled, f"a{number + 1}")
    shrink_early(build, build.last, "b")
    for number, width in enumerate((128, 160, 160, 192)):
        sevens(build, build.last, width, f"c{number + 1}")
    shrink_late(build, build.last, "d")
    for number in range(2):
        threes(build, build.last, f"e{number + 1}")
    build.add(GlobalPool(kind="avg"), name="pool")
    build.add(Dropout(rate=0.5), name="dropout")
    build.add(Output(units=classes), name="output")
    return build.conf(**({"initializer": "he"} | options))


def stem(build: GraphBuilder) -> None:
    path(build, "features", "stem", (32, 3, 2), (32, 3), (64, 3, 1, 1))
    build.add(MaxPool2D(size=3, stride=2), name="stem/pool1")
    path(build, "stem/pool1", "stem/more", (80, 1), (192, 3))
    build.add(MaxPool2D(size=3, stride=2), name="stem/pool2")


def fives(build: GraphBuilder, x: str, pooled: Any, name: str) -> None:
    """Adds four parallel paths: 1x1, 5x5, two 3x3, pooling."""
    paths = [
        path(build, x, f"{name}/1x1", (64, 1)),
        path(build, x, f"{name}/5x5", (48, 1), (64, 5, 1, 2)),
        path(build, x, f"{name}/3x3", (64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
        path(build, average(build, x, name), f"{name}/pooled", (pooled, 1)),
    ]
    build.add(Merge(), *paths, name=name)


def shrink_early(build: GraphBuilder, x: str, name: str) -> None:
    """Adds a reduction from 35 to 17 rows."""
    paths = [
        path(build, x, f"{name}/3x3", (384, 3, 2)),
        path(build, x, f"{name}/3x3x2", (64, 1), (96, 3, 1, 1), (96, 3, 2)),
        build.add(MaxPool2D(size=3, stride=2), x, name=f"{name}/pool"),
    ]
    build.add(Merge(), *paths, name=name)


def sevens(build: GraphBuilder, x: str, width: int, name: str) -> None:
    """Adds four parallel paths: 1x1, 7x7 as rows and columns, the same twice, pooling."""
    once = (width, 1), (width, WIDE, 1, (0, 3)), (192, TALL, 1, (3, 0))
    pair = (width, TALL, 1, (3, 0)), (width, WIDE, 1, (0, 3))
    twice = (width, 1), *pair, pair[0], (192, WIDE, 1, (0, 3))
    paths = [
        path(build, x, f"{name}/1x1", (192, 1)),
        path(build, x, f"{name}/7x7", *once),
        path(build, x, f"{name}/7x7x2", *twice),
        path(build, average(build, x, name), f"{name}/pooled", (192, 1)),
    ]
    build.add(Merge(), *paths, name=name)


def shrink_late(build: GraphBuilder, x: str, name: str) -> None:
    """Adds a reduction from 17 to 8 rows."""
    seven = (192, 1), (192, WIDE, 1, (0, 3)), (192, TALL, 1, (3, 0)), (192, 3, 2)
    paths = [
        path(build, x, f"{name}/3x3", (192, 1), (320, 3, 2)),
        path(build, x, f"{name}/7x7", *seven),
        build.add(MaxPool2D(size=3, stride=2), x, name=f"{name}/pool"),
    ]
    build.add(Merge(), *paths, name=name)


def threes(build: GraphBuilder, x: str, name: str) -> None:
    """Adds four parallel paths: 1x1, 3x3 as rows beside columns, the same after 3x3, pooling."""
    once = path(build, x, f"{name}/3x3", (384, 1))
    twice = path(build, x, f"{name}/3x3x2", (448, 1), (384, 3, 1, 1))
    paths = [
        path(build, x, f"{name}/1x1", (320, 1)),
        *both(build, once, f"{name}/3x3"),
        *both(build, twice, f"{name}/3x3x2"),
        path(build, average(build, x, name), f"{name}/pooled", (192, 1)),
    ]
    build.add(Merge(), *paths, name=name)


def both(build: GraphBuilder, x: str, name: str) -> tuple[str, str]:
    row = path(build, x, f"{name}/row", (384, (1, 3), 1, (0, 1)))
    return row, path(build, x, f"{name}/column", (384, (3, 1), 1, (1, 0)))


def average(build: GraphBuilder, x: str, name: str) -> str:
    pool = AvgPool2D(size=3, stride=1, padding=1, count_padding=True)
    return build.add(pool, x, name=f"{name}/pool")


def path(build: GraphBuilder, x: str, name: str, *convolutions: Any) -> str:
    """Adds convolutions (filters, kernel, stride, padding), each with batch norm and ReLU."""
    for number, (filters, kernel, *rest) in enumerate(convolutions, 1):
        stride, padding = rest + [1, 0][len(rest) :]
        where = f"{name}/{number}"
        options = {"filters": filters, "kernel_size": kernel, "stride": stride, "padding": padding}
        build.add(Conv2D(**options, bias=False), x, name=f"{where}/conv")
        build.add(BatchNorm(epsilon=1e-3), name=f"{where}/norm")
        x = build.add(Activation("relu"), name=f"{where}/relu")
    return x
