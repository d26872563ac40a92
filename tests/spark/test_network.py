"""SparkNetwork: the device that it uses, consecutive fits, and refused options."""

from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

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
        "backend must be 'auto' for a GPU, got 'onednn'; it names a CPU engine",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("name", USES)
def test_what_no_master_takes_no_use_takes(name, case, sc):
    options, device, sentence = REFUSED[case]
    net = SparkNetwork(sc, plain(), ParameterAveraging(**options))
    with pytest.raises(ConfigError, match=f"^ParameterAveraging.{sentence}"):
        USES[name](net, arrays(4), device)


def test_a_fit_after_one_that_ended_inside_an_epoch_trains_all_of_its_data(sc):
    """With validate_first an evaluation also comes before the first update."""
    small = ParameterAveraging(workers=2, batch_size_per_worker=4, averaging_frequency=2)
    net = SparkNetwork(sc, plain(), small)
    history = net.fit(arrays(60), updates=5, validation=arrays(12), validate_first=True)
    assert [one.iteration for one in history.validations] == [0]
    assert not net.network.state.starts_epoch
    history = net.fit(arrays(24, records_per_split=12))
    assert [(one.epoch, one.examples) for one in history.epochs] == [(1, 24)]


def test_evaluations_of_nothing_are_refused(sc):
    net = SparkNetwork(sc, plain())
    with pytest.raises(ConfigError, match="validate_every must be left out .* no validation data"):
        net.fit(arrays(12), validate_every=2)
    with pytest.raises(ConfigError, match="listeners must be a sequence of Listener, got None"):
        net.fit(arrays(12), listeners=None)


def test_a_budget_that_is_no_number_is_refused_before_any_job(sc, monkeypatch):
    monkeypatch.setenv("SPARKDL_KERNELS_BYTES", "1 GB")
    with pytest.raises(ConfigError, match="^SPARKDL_KERNELS_BYTES must be a number of bytes, got"):
        SparkNetwork(sc, plain()).fit(None)


class DataFrame:
    """A stub of a Spark Connect DataFrame with a session."""

    __module__, isStreaming = "pyspark.sql.connect.dataframe", False

    def __init__(self, session):
        self.sparkSession = session


def test_data_and_validation_of_two_sessions_of_connect_are_refused_unread():
    check = partial(SparkNetwork._require_frames, Mock(recipe=None))
    one, same, other = (SimpleNamespace(session_id=name) for name in ("one", "one", "other"))
    check(DataFrame(one), DataFrame(one))
    check(DataFrame(one), DataFrame(same))
    with pytest.raises(
        ConfigError, match="^validation must be .* make both with one SparkSession$"
    ):
        check(DataFrame(one), DataFrame(other))
