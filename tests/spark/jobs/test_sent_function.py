"""Functions sent to tasks arrive unchanged, or an error names what is missing."""

import sys
from functools import partial
from types import ModuleType

import numpy as np
import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException

from sparkdl.errors import ConfigError
from sparkdl.spark import SparkNetwork, predict_column
from sparkdl.spark.jobs.sent_function import SentFunction
from tests.spark.networks import data, plain

LACK = r"ConfigError: objects for tasks .* No module named 'only_here'; send it .*sc\.addPyFile"


@pytest.fixture
def change(monkeypatch):
    """A function from a module that only this process has."""
    module = ModuleType("only_here")
    exec("def change(batch): return batch", vars(module))
    monkeypatch.setitem(sys.modules, "only_here", module)
    return module.change


def test_a_function_arrives_as_itself_with_its_arrays():
    sent = SentFunction(partial(np.add, np.arange(3.0)))
    np.testing.assert_array_equal(sent(1), [1, 2, 3])
    again = cloudpickle.loads(cloudpickle.dumps(sent))
    assert type(again) is partial
    np.testing.assert_array_equal(again(1), [1, 2, 3])


def test_a_module_that_is_missing_is_named_with_the_cure(change, monkeypatch):
    sent = cloudpickle.dumps(SentFunction(change))
    assert cloudpickle.loads(sent) is change
    monkeypatch.delitem(sys.modules, "only_here")
    with pytest.raises(ConfigError, match="No module named 'only_here'; send it"):
        cloudpickle.loads(sent)


@pytest.fixture
def frame(spark):
    rows = [(x.tolist(), int(y)) for x, y in zip(*data(12), strict=True)]
    return spark.createDataFrame(rows, ["features", "label"]).coalesce(1)


def evaluate(net, frame, change):
    with pytest.raises(ConfigError, match="No module named 'only_here'; send it"):
        net.evaluate(frame, transform=change)


def predict(net, frame, change):
    with pytest.raises(PythonException, match=LACK):
        net.predict(frame, transform=change).collect()


def predict_rows(net, frame, change):
    rows = frame.rdd.map(lambda row: (np.array(row.features, np.float32), row.label))
    with pytest.raises(Exception, match=LACK):
        net.predict(rows, transform=change).collect()


def prepare(net, frame, change):
    with pytest.raises(PythonException, match=LACK):
        predict_column(frame, net, prepare=change).collect()


@pytest.mark.parametrize("use", [evaluate, predict, predict_rows, prepare])
def test_a_job_names_a_module_that_the_driver_alone_has(sc, frame, change, use):
    use(SparkNetwork(sc, plain()), frame, change)
