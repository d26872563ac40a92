"""The README's example runs as it stands, and what it names exists."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from sparkdl import (
    AllReduceSGD,
    Batch,
    Dense,
    Network,
    NetworkConf,
    Output,
    SparkNetwork,
    cli,
)
from sparkdl.exchange.codecs import OneBit
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.zoo import lenet
from sparkdl.tune import EnsembleModel

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    """The fenced blocks of a language, "" for those that name none."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def block_with(text):
    """The one block of Python that has a text."""
    [block] = [block for block in blocks("python") if text in block]
    return block


def test_example_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = blocks("python")[0]
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})
    accuracy = float(capsys.readouterr().out.splitlines()[-1])
    assert accuracy > 0.85
    assert Network.load(tmp_path / "digits-model").state.epoch == 2


def test_the_graph_is_one_that_learns():
    names, rng = {}, np.random.default_rng(0)
    exec(compile(block_with("GraphBuilder"), "README.md", "exec"), names)
    replica, n = Replica(names["conf"]), 8
    columns = {"features": rng.normal(size=(n, 3, 32, 32)).astype(np.float32)}
    columns["labels"] = rng.integers(0, 10, n).astype(np.int32)
    batch = Batch(columns=columns, ids=np.arange(n, dtype=np.uint64))
    losses = [replica.step(batch, 0.05, t) for t in range(1, 11)]
    assert losses[-1] < losses[0]


def test_the_masters_are_there(spark):
    names = {"sc": spark.sparkContext, "conf": lenet()}
    exec(compile(block_with("AllReduceSGD("), "README.md", "exec"), names)
    assert names["net"].master == AllReduceSGD(batch_size_per_worker=64, codec=OneBit())


def test_a_network_is_a_stage_of_a_pipeline(spark, tmp_path, capsys):
    kinds = [
        (float(kind), *map(float, range(kind, kind + 3)), f"kind {kind}") for kind in (0, 1, 2)
    ]
    flowers = spark.createDataFrame(kinds * 80, ["a", "b", "c", "d", "species"]).coalesce(2)
    example = block_with("SparkNetworkClassifier").replace("hdfs:///models", str(tmp_path))
    names = {"flowers": flowers}
    exec(compile(example, "README.md", "exec"), names)
    assert "|prediction|" in capsys.readouterr().out
    found = names["model"].transform(flowers).filter("prediction = label").count()
    assert found > 200
    assert (tmp_path / "flowers" / "stages").is_dir()


def test_a_search_ends_in_an_ensemble(spark, tmp_path):
    rows = [([float(kind == n) for n in range(4)], kind) for kind in (0, 1, 2)] * 20
    frame = spark.createDataFrame(rows, ["features", "label"]).coalesce(2)
    example = block_with("suggest_float").replace("hdfs:///models", str(tmp_path))
    names = {"spark": spark, "train": frame, "test": frame}
    exec(compile(example.replace("trials=16", "trials=3"), "README.md", "exec"), names)
    assert EnsembleModel.load(str(tmp_path / "ensemble")).evaluate(frame).examples == 60


def test_a_fit_is_steered(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [([float(kind), 1.0], kind) for kind in (0, 1)] * 20
    frame = spark.createDataFrame(rows, ["features", "label"]).coalesce(2)
    layers = [Dense(units=4, activation="relu"), Output(units=2)]
    net = SparkNetwork(spark, NetworkConf(input_shape=(2,), layers=layers))
    example = block_with("EarlyStopping").replace("epochs=100", "epochs=2")
    names = {"net": net, "df": frame}
    exec(compile(example, "README.md", "exec"), names)
    assert len(names["history"].epochs) == 2
    assert names["history"].epochs[-1].validation.examples < 20
    assert (tmp_path / "fit.html").is_file()


def commands():
    text = "\n".join(blocks("")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.startswith("sparkdl ")]


def test_there_are_commands_of_each_kind():
    kinds = {line.split()[1] for line in commands()}
    known = {"train", "evaluate", "predict", "features", "summary", "time", "convert", "simulate"}
    assert kinds == known | {"submit", "caffe"}


@pytest.mark.parametrize("line", commands())
def test_command_is_understood(line):
    options = cli.parser().parse_args(shlex.split(line)[1:])
    conf = getattr(options, "conf", None)
    assert conf is None or (ROOT / conf).exists()


def test_files_that_are_named_exist():
    named = set(re.findall(r"\b(?:conf|notebooks|sparkdl)/[\w/]+\.\w+", README))
    assert len(named) >= 3
    assert not [name for name in named if not (ROOT / name).exists()]
