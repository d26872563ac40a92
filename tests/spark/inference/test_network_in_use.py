"""What a network in use sends to executors, and when it sends it again."""

import numpy as np
import pytest

from sparkdl.data import Compose, Scale
from sparkdl.errors import ConfigError
from sparkdl.nn import BatchNorm, Dense, NetworkConf, Output
from sparkdl.spark.inference.network_in_use import NetworkInUse
from sparkdl.spark.jobs import shared_value
from sparkdl.spark.records.records import SparkRecords
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network

CONF = NetworkConf(input_shape=(3,), layers=[Dense(units=2), BatchNorm(), Output(units=2)])


class Shared:
    """A stub of SharedValue that copies the vectors when it is made."""

    def __init__(self, sc, value, needs):
        assert needs is None, "only files of tables are needed"
        _, state, _, _ = value
        self.params, self.buffers = state.params.copy(), state.buffers.copy()
        self.has_code = True

    def has_code_of(self, value):
        return self.has_code


@pytest.fixture
def in_use(monkeypatch):
    monkeypatch.setattr(shared_value, "SharedValue", Shared)
    made = NetworkInUse()
    made.sc, made.network, made.master = None, Network(CONF), ParameterAveraging(device="cpu")
    made._model = None
    return made


def test_weights_are_sent_once(in_use):
    assert in_use.shared_model("cpu") is in_use.shared_model("cpu")


def test_a_network_whose_code_has_changed_is_sent_again(in_use):
    before = in_use.shared_model("cpu")
    before.has_code = False
    after = in_use.shared_model("cpu")
    assert after is not before and in_use.shared_model("cpu") is after


CHAIN = [Scale(factor=0.5), Scale(factor=4.0)]


@pytest.mark.parametrize(
    "given", [CHAIN, tuple(CHAIN), Compose(CHAIN)], ids=lambda g: type(g).__name__
)
def test_a_list_of_transforms_is_one(in_use, spark, given):
    frame = spark.createDataFrame([([1.0, 2.0, 3.0], 0)], "features array<double>, label int")
    assert in_use.transform_for(frame, given) == Compose(CHAIN)
    assert SparkRecords(frame, transform=given).transform == Compose(CHAIN)


@pytest.mark.parametrize("given, got", [(3, "3"), ([Scale(), 3], r"\[1\]"), (Scale, "write Scale")])
def test_what_is_no_transform_is_refused(in_use, spark, given, got):
    frame = spark.createDataFrame([([1.0, 2.0, 3.0], 0)], "features array<double>, label int")
    for use in (in_use.transform_for, lambda data, given: SparkRecords(data, transform=given)):
        with pytest.raises(ConfigError, match=f"^transform.*{got}"):
            use(frame, given)


@pytest.mark.parametrize("vector", ["params", "buffers"])
def test_a_state_that_is_written_over_is_sent_again(in_use, vector):
    before = in_use.shared_model("cpu")
    getattr(in_use.network.state, vector)[-1] += 1
    after = in_use.shared_model("cpu")
    assert after is not before
    np.testing.assert_array_equal(getattr(after, vector), getattr(in_use.network.state, vector))
    assert in_use.shared_model("cpu") is after
