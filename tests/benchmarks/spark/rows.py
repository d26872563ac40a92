"""The rows of the table: each side's command, and the bars of sparkdl."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.peers.environment import ROOT
from tests.support.framework_packages import install

TORCH = ROOT / ".torch"  # installed by `build.py test --torch`
OURS = "sparkdl"
SYNCHRONOUS, ASYNCHRONOUS = "Elephas synchronous", "Elephas asynchronous"
DL4J = "Deeplearning4j"
PEER = Path(__file__).parents[1] / "peers" / "elephas_fit.py"


@dataclass(frozen=True)
class Bar:
    """An upper bound of a sparkdl figure: the sum of the peers' figure, times, plus."""

    figure: str
    peers: tuple[str, ...] = ()
    times: float = 1.0
    plus: float = 0.0

    def limit(self, found):
        """Returns the bound in seconds; `found` is {side: {figure: seconds}}."""
        return sum(found[peer][self.figure] for peer in self.peers) * self.times + self.plus

    def __str__(self):
        if self.times == 1:
            return " + ".join([*self.peers, f"{self.plus:g} s"])
        return f"{1 / self.times:.2f} times as fast as {' and '.join(self.peers)}"


@dataclass(frozen=True)
class Row:
    """A line: {side: its command words}, sparkdl's first, and the bars of its figures.

    Words that start with "elephas" run in that environment's Python, with "dl4j" in Java.
    """

    title: str
    sides: dict[str, tuple[str, ...]]
    bars: tuple[Bar, ...]


def faster(figure, peer, ratio):
    """Returns the bar of being `ratio` times as fast as a peer."""
    return Bar(figure, (peer,), times=1 / ratio)


def against_elephas(title, ours, model, records, epochs, synchronous, asynchronous):
    """Returns a row of whole fits against Elephas, with two bars."""
    sides = {OURS: ("our_side", *ours)}
    for name in (SYNCHRONOUS, ASYNCHRONOUS):
        sides[name] = ("elephas", model, name.split()[1], records, epochs)
    bars = (
        faster("seconds", SYNCHRONOUS, synchronous),
        faster("seconds", ASYNCHRONOUS, asynchronous),
    )
    return Row(title, sides, bars)


def against_dl4j(title, model):
    """Returns a row of whole fits against Deeplearning4j in threads, its fastest setup."""
    sides = {OURS: ("our_side", "fit_pairs", model, "5"), DL4J: ("dl4j", model, "5")}
    return Row(title, sides, (faster("seconds", DL4J, 3),))


def against_torch(title, side, *options, figure, ratio):
    """Returns a row of predictions against torch's two fast modes in `predict_batch_udf`."""
    modes = "channels_last", "compile"
    peers = {f"torch {mode} in predict_batch_udf": ("udf_side", side, mode) for mode in modes}
    bars = (faster(figure, peer, ratio) for peer in peers)
    return Row(title, {OURS: ("our_side", side, *options)} | peers, tuple(bars))


def beside(title, ours, others, *bars):
    """Returns a row of sparkdl against Spark, pyarrow or its own engine."""
    return Row(title, {OURS: ("our_side", *ours)} | others, bars)


SCAN = {"bare mapInArrow": ("bare_side", "scan_frame")}
FILES = {"pyarrow": ("bare_side", "scan_files")}
TRIVIAL = {"trivial job": ("bare_side", "trivial_job")}
ALONE = {"alone": ("our_side", "step_alone")}
COPY = {"copy by mapInArrow": ("bare_side", "copy_frame")}
ENGINE = {"engine": ("our_side", "predict_alone")}

ROWS = {
    "lenet": against_elephas(
        "LeNet, 10,000 pairs x 5", ("fit_pairs", "lenet", "5"), "lenet", "pairs", "5", 2.5, 1.8
    ),
    "mlp": against_elephas(
        "MLP, 10,000 pairs x 5", ("fit_pairs", "mlp", "5"), "mlp", "pairs", "5", 2, 1.7
    ),
    "lenet_dl4j": against_dl4j("LeNet, 10,000 pairs x 5", "lenet"),
    "mlp_dl4j": against_dl4j("MLP, 10,000 pairs x 5", "mlp"),
    "frame": against_elephas(
        "LeNet, DataFrame of 60,000 x 3", ("fit_frame", "3"), "lenet", "frame", "3", 2, 2
    ),
    "first_step": beside(
        "fit to first step, DataFrame of 60,000",
        ("first_step_of_frame",),
        SCAN,
        *(Bar(figure, tuple(SCAN), plus=1.5) for figure in ("cold", "warm")),
    ),
    "files": beside(
        "fit to first step, Parquet(path) of 60,000",
        ("first_step_of_files",),
        FILES | TRIVIAL,
        Bar("cold", (*FILES, *TRIVIAL), plus=1.5),
        Bar("warm", tuple(FILES), plus=1.5),
    ),
    "few": beside(
        "MLP, 2,000 pairs: a cold fit; a second one up to its first step",
        ("fit_few",),
        TRIVIAL,
        Bar("cold", tuple(TRIVIAL), plus=4.0),
        Bar("second", plus=1.0),
    ),
    "step": beside(
        "LeNet's step in two executors",
        ("step_in_executors",),
        ALONE,
        Bar("step", ("alone",), 1.15),
    ),
    "predict": beside(
        "predict of 60,000 rows, all columns kept",
        ("predict_frame",),
        ENGINE | COPY,
        Bar("warm", ("engine", *COPY), times=1 / 0.9),
    ),
    "predict_keep": beside(
        "predict of 60,000 rows, the label kept",
        ("predict_frame", "label"),
        ENGINE | SCAN,
        Bar("warm", ("engine", *SCAN), times=1 / 0.9),
    ),
    "predict_udf": against_torch(
        "predict of 60,000 rows by LeNet, the label kept",
        "predict_frame",
        "label",
        figure="warm",
        ratio=2,
    ),
    "images": against_torch(
        "2,000 JPEGs of 500 x 375 by ResNet-50 into Parquet",
        "predict_images",
        figure="seconds",
        ratio=1.3,
    ),
}


def command(words, folder, python_of, java_of):
    """Returns the command of one side, with the folder of its records."""
    name, *rest = words
    if name == "elephas":
        return [python_of(name), PEER, folder, *rest]
    if name == "dl4j":
        return [*java_of(name), folder, *rest]
    module = [sys.executable, "-m", f"tests.benchmarks.spark.{name}", rest[0], folder, *rest[1:]]
    return module if name != "udf_side" else ["env", f"PYTHONPATH={with_torch()}", *module]


def with_torch():
    """Returns a PYTHONPATH with torch, installing it if needed."""
    install("torch", TORCH)
    return os.pathsep.join([str(TORCH), str(ROOT)])
