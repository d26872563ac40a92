"""The device of a network in use: its options, and the reports of it."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn.execution.device import PROCESSOR
from sparkdl.spark import SparkNetwork
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, data, plain

PARTS = 3


def records(spark):
    return arrays(12, records_per_split=12 // PARTS)


def frame(spark):
    rows = [(x.tolist(), int(y)) for x, y in zip(*data(12), strict=True)]
    return spark.createDataFrame(rows, ["features", "label"]).repartition(PARTS)


USES = {
    "evaluate": lambda net, data, on: net.evaluate(data, device=on),
    "score": lambda net, data, on: net.score(data, device=on),
    "predict": lambda net, data, on: net.predict(data, device=on).collect(),
    "features": lambda net, data, on: net.features(data, "dense_1", device=on).collect(),
}


@pytest.mark.parametrize("made", [records, frame])
@pytest.mark.parametrize("name", USES)
def test_each_task_is_told_once(name, made, spark):
    net, given = SparkNetwork(spark, plain()), made(spark)
    for times in range(3):
        assert net.devices == ({PROCESSOR: PARTS * times} if times else {})
        USES[name](net, given, "cpu")


REFUSED = {
    "another word": ({}, "gpu", r"device must be 'auto', 'cpu' or 'cuda', got 'gpu'"),
    "no word": ({}, 0, r"device must be 'auto', 'cpu' or 'cuda', got 0"),
    "two places": (
        {"backend": "onednn"},
        "cuda",
        "backend must be 'auto' for a GPU, got 'onednn'; it names an engine of the processor",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("name", USES)
def test_what_no_master_takes_no_use_takes(name, case, sc):
    options, device, sentence = REFUSED[case]
    net = SparkNetwork(sc, plain(), ParameterAveraging(**options))
    with pytest.raises(ConfigError, match=f"^ParameterAveraging.{sentence}"):
        USES[name](net, arrays(4), device)
